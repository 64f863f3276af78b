package reports

import (
	"bytes"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/space"
	"autotune/tuner"
	"autotune/tuner/bestconfig"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares an output with a file in testdata, or overwrites the file if -update is given.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		must.OK(t, os.WriteFile(path, got, 0o644))
	}
	want := must.Read(t, path)
	if !bytes.Equal(got, want) {
		t.Errorf("%s: if meant so, run go test -update\n got\n%s\nwant\n%s", name, got, want)
	}
}

// document reads one of the documents in the testdata folder of package bestconfig.
func document(name string) bestconfig.Document {
	f, err := os.Open(filepath.Join("..", "tuner", "bestconfig", "testdata", name+".json"))
	if err != nil {
		panic(err)
	}
	defer f.Close()
	d, err := bestconfig.Read(f)
	if err != nil {
		panic(err)
	}
	return d
}

// convolution is a search on a GPU whose document has a value in every field.
func convolution() bestconfig.Document { return document("cuda") }

// replayed is the document of the search convolution, as a replay of a recording would write it.
func replayed() bestconfig.Document { return document("replay") }

// emulated is a small search on the CPU emulator, without a roofline and without PyTorch.
func emulated() bestconfig.Document { return document("emulator") }

// failed is a search that found no valid variant.
func failed() bestconfig.Document {
	b := convolution()
	b.Configuration, b.Macros, b.Baselines = space.Configuration{}, nil, nil
	b.Time = trial.Timing{}
	b.SetRoofline(9_635_000_000, 618_000_000_000, 3.03e9)
	b.Trials = tuner.Counts{Total: 40, ByStatus: map[trial.Status]int{trial.CompileError: 30, trial.Timeout: 10}}
	return b
}

// trials makes n trials whose times approach best. Of every hundred trials, as many fail as the argument failures says.
func trials(n, failures int, best float64) []trial.Trial {
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	bad := []trial.Status{trial.CompileError, trial.LaunchError, trial.WrongResult, trial.Timeout, trial.Crashed, trial.Pruned}
	list := make([]trial.Trial, n)
	for i := range list {
		if rng.IntN(100) < failures {
			list[i].Status = bad[rng.IntN(len(bad))]
			continue
		}
		progress := 2.2 * math.Exp(-3*float64(i)/float64(n))
		ms := best * (1 + (0.12+progress)*math.Abs(rng.NormFloat64())*1.5)
		list[i].Status = trial.OK
		list[i].Time = trial.Timing{Median: ms, Min: ms, CI95: [2]float64{ms, ms}, Samples: 20}
	}
	return list
}
