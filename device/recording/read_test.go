package recording

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/test/must"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func encoded(t testing.TB, r Recording, compressed bool) []byte {
	t.Helper()
	var b bytes.Buffer
	must.OK(t, encode(&b, r, compressed))
	return b.Bytes()
}

func TestGolden(t *testing.T) {
	got := encoded(t, recorded(oneOfEach()), false)
	golden := filepath.Join("testdata", "recording.json")
	if *update {
		must.OK(t, os.WriteFile(golden, got, 0o644))
	}
	want := must.Read(t, golden)
	if !bytes.Equal(got, want) {
		t.Errorf("the format changed; if meant so, run go test -update\n got %s\nwant %s", got, want)
	}
	loaded, err := Load(t.Context(), golden)
	must.OK(t, err)
	if loaded.File != golden {
		t.Errorf("File = %q", loaded.File)
	}
	if !bytes.Equal(encoded(t, *loaded, false), want) {
		t.Error("loading and writing again changed the file")
	}
}

// Each measured quantity of a variant survives being written to a recording and read back.
func TestQuantitiesSurvive(t *testing.T) {
	for _, q := range quantities {
		r := recorded(oneOfEach()[:1])
		q.set(&r.Trials[0].Outcome, 7)
		back, err := decode(bytes.NewReader(encoded(t, r, true)))
		must.OK(t, err)
		if got := fmt.Sprint(q.value(&back.Trials[0].Outcome)); got != "7" {
			t.Errorf("%s came back as %v", q.name, got)
		}
	}
}

func TestWriteIsReproducible(t *testing.T) {
	r := recorded(oneOfEach())
	if !bytes.Equal(encoded(t, r, true), encoded(t, r, true)) {
		t.Error("two encodings of one recording differ")
	}
}

func TestLoadErrors(t *testing.T) {
	plain := string(encoded(t, recorded(oneOfEach()), false))
	zipped := string(encoded(t, recorded(oneOfEach()), true))
	// with returns the plain recording with the first occurrence of old replaced by new.
	with := func(old, new string) string {
		if !strings.Contains(plain, old) {
			t.Fatalf("the recording has no %s", old)
		}
		return strings.Replace(plain, old, new, 1)
	}
	for _, c := range []struct{ name, file, want string }{
		{"empty", "", "the file is empty"},
		{"text", "hello", "line 1, column 1: not JSON"},
		{"array", "[1]", "must be a"},
		{"cut JSON", plain[:len(plain)-300], "cut short"},
		{"cut gzip", zipped[:len(zipped)-50], "damaged or cut short"},
		{"bad gzip", zipped[:2] + "garbage, no header", "damaged or cut short"},
		{"trailing", plain + "{}", "there is more after the end"},
		{"no version", `{"results":[]}`, "no schema_version"},
		{"version", with(`"1.0.0"`, `"2.0.0"`), `schema_version is "2.0.0"`},
		{"no metadata", `{"schema_version":"1.0.0","results":[]}`, "has no metadata"},
		{"foreign", `{"schema_version":"1.0.0","metadata":{"timeunit":"milliseconds"},"results":[]}`, "metadata.format is missing"},
		{"format", with("recording/1", "recording/9"), `metadata.format is "autotune/recording/9"`},
		{"a warning as a text", with(`"status":"ok"`, `"warnings":["throttled: power limit"],"status":"ok"`), "results.autotune.warnings must be an object, not a string"},
		{"unit", with(`"milliseconds"`, `"seconds"`), "metadata.timeunit"},
		{"problem", with(`"problem":"max_pool2d`, `"problem":"","x":"`), "metadata.problem is missing"},
		{"operator", with(`"operator":"max_pool2d"`, `"operator":"avg_pool2d"`), "metadata contradicts itself"},
		{"shape", with(`"problem":"max_pool2d `, `"problem":"max_pool2d 9x`), "metadata contradicts itself"},
		{"parameter", with(`"kernel":"4"`, `"kernel":"5"`), `problem is "max_pool2d 1x2x20x20 kernel=4 stride=1", but operator, shape, parameters and math make "max_pool2d 1x2x20x20 kernel=5 stride=1 math=fp32"`},
		{"no parameters", with(`"kernel":"4","stride":"1"`, ``), "metadata contradicts itself"},
		{"math", with(`stride=1"`, `stride=1 math=tf32"`), "metadata contradicts itself"},
		{"device", with(`"name":"NVIDIA H100 80GB HBM3"`, `"name":""`), "metadata.device.name is missing"},
		{"results", plain[:strings.Index(plain, `"results":[`)] + `"results":[]}`, "it holds no results"},
		{"type", with(`"runtimes":[1.25`, `"runtimes":["1.25"`), "line 4, column 201: results.times.runtimes must be a number, not a string"},
		{"time", with(`"runtimes":[1.25`, `"runtimes":[-1`), "results[0].times.runtimes[0]: -1 is no time of a launch"},
		{"long time", with(`"runtimes":[1.25`, `"runtimes":[1e300`), "results[0].times.runtimes[0]: 1e+300 is no time of a launch"},
		{"short time", with(`"runtimes":[1.25`, `"runtimes":[1e-7`), "results[0].times.runtimes[0]: 1e-07 is no time of a launch"},
		{"median", with(`{"name":"time","value":1.25`, `{"name":"time","value":1e300`), "results[0].measurements: time: 1e+300 is no time of a launch"},
		{"no times", with(`"runtimes":[1.25,1.125,1.5]`, `"runtimes":[]`), "results[0].times.runtimes is empty"},
		{"template", with(`"template":"direct"`, `"template":7`), "results[0].configuration.template is missing"},
		{"value", with(`"vec":1`, `"vec":[1]`), "results[0].configuration.vec: a value is"},
		{"status", with(`"status":"ok"`, `"status":"fine"`), `results[0].autotune.status: "fine" is no status`},
		{"invalidity", with(`"invalidity":"correct"`, `"invalidity":"compile"`), `results[0].invalidity is "compile", but the status ok means "correct"`},
		{"no status", strings.Replace(strings.Replace(plain, `"status":"ok",`, "", 1), `"correct"`, `"odd"`, 1), `results[0].invalidity is "odd", want one of compile, constraints`},
		{"digest", with(`"digest":"`, `"digest":"xyz`), "results[0].autotune.digest"},
		{"twice", with(`"block_x":64,"template":"direct","vec":1}`, `"block_x":32,"template":"direct","vec":1}`), "results[0] and results[2] have the same configuration"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "r.json")
			must.OK(t, os.WriteFile(path, []byte(c.file), 0o644))
			_, err := Load(t.Context(), path)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), path+": ") {
				t.Errorf("got %v\nwant %s: ...%s...", err, path, c.want)
			}
		})
	}
	if _, err := Load(t.Context(), filepath.Join(t.TempDir(), "absent.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent file: %v", err)
	}
}

func TestRoundKeepsSixDigits(t *testing.T) {
	for _, c := range []struct{ in, want float64 }{
		{0, 0}, {1.2345678, 1.23457}, {0.00123456789, 0.00123457}, {123456789, 123457000}, {-2.00000049, -2}, {5.302271842956543, 5.30227},
	} {
		if got := round(c.in); got != c.want {
			t.Errorf("round(%v) = %v, want %v", c.in, got, c.want)
		}
	}
}

func TestStatusFromInvalidityAlone(t *testing.T) {
	plain := string(encoded(t, recorded(oneOfEach()), false))
	r, err := decode(strings.NewReader(strings.ReplaceAll(plain, `"status":"crashed",`, "")))
	must.OK(t, err)
	if got := r.Trials[6].Status; got != "launch_error" {
		t.Errorf("status = %q, want launch_error for runtime", got)
	}
}

func TestCacheTimesThatNoLaunchTakesAreFailures(t *testing.T) {
	r, err := ReadAny(strings.NewReader(`{"tune_params_keys": ["n"], "tune_params": {"n": [1, 2, 3, 4]}, "cache": {
		"1": {"time": 0.5}, "2": {"time": 1e20}, "3": {"time": 0}, "4": {"time": Infinity}}}`))
	must.OK(t, err)
	for i, want := range []trial.Status{trial.OK, trial.LaunchError, trial.LaunchError, trial.LaunchError} {
		if got := r.Trials[i].Status; got != want {
			t.Errorf("configuration %d: %s, want %s", i+1, got, want)
		}
	}
}

func TestDecompressionIsBounded(t *testing.T) {
	var bomb bytes.Buffer
	zip := gzip.NewWriter(&bomb)
	if _, err := zip.Write(bytes.Repeat([]byte(" "), int(recordingBound.Bytes)+1)); err != nil {
		t.Fatal(err)
	}
	must.OK(t, zip.Close())
	if _, err := readMetadata(bytes.NewReader(bomb.Bytes())); err == nil {
		t.Error("a file of spaces passed as a recording")
	}
}

func TestWriteRefusesWhatLoadWould(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json.gz")
	r := recorded(oneOfEach())
	r.Trials = append(r.Trials, r.Trials[0])
	if err := Write(path, r); err == nil || !strings.Contains(err.Error(), "same configuration") {
		t.Errorf("Write: %v", err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("a file was left: %v", err)
	}
	again := recorded(oneOfEach())
	again.Metadata.Device.Kind, again.Metadata.Device.Recording = device.Replay, "old.json.gz"
	if err := Write(path, again); err == nil || !strings.Contains(err.Error(), "copy old.json.gz instead") {
		t.Errorf("a replay was recorded: %v", err)
	}
	if err := Write(filepath.Join(t.TempDir(), "no", "r.json"), recorded(oneOfEach())); err == nil {
		t.Error("writing into a folder that is not there succeeded")
	}
}

// Files of other tools may have more digits, other time zones and another order of tunables. Once our own code has
// written a recording of another tool, reading and writing the recording again gives the same bytes.
func FuzzDecode(f *testing.F) {
	f.Add(encoded(f, recorded(oneOfEach()), false))
	f.Add(encoded(f, recorded(oneOfEach()), true))
	f.Add([]byte(`{"schema_version":"1.0.0","metadata":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decode(bytes.NewReader(data))
		if err != nil {
			return
		}
		written := encoded(t, *r, false)
		again, err := decode(bytes.NewReader(written))
		if err != nil {
			t.Fatalf("what was read cannot be written and read again: %v", err)
		}
		if len(again.Trials) != len(r.Trials) {
			t.Fatalf("%d trials became %d", len(r.Trials), len(again.Trials))
		}
		if rewritten := encoded(t, *again, false); !bytes.Equal(rewritten, written) {
			t.Fatalf("%s\nbecame\n%s", written, rewritten)
		}
	})
}
