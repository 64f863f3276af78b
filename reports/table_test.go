package reports

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"autotune/internal/test/must"
	"autotune/tuner"
	"autotune/tuner/bestconfig"
	"autotune/tuner/final"
	"autotune/tuner/torchtimes"
)

func TestTable(t *testing.T) {
	odd := convolution()
	odd.Warnings = []string{strings.Repeat("unbroken", 12) + " and a word"}
	for name, b := range map[string]bestconfig.Document{"cuda.txt": convolution(), "replay.txt": replayed(), "emulator.txt": emulated(), "failed.txt": failed()} {
		var out bytes.Buffer
		must.OK(t, SearchTable(&out, b, nil))
		golden(t, name, out.Bytes())
		for line := range strings.Lines(out.String()) {
			line = strings.TrimSuffix(line, "\n")
			if utf8.RuneCountInString(line) > tableWidth || strings.TrimRight(line, " ") != line || strings.Contains(line, "\t") {
				t.Errorf("%s: bad line %q", name, line)
			}
		}
	}
	if err := SearchTable(&bytes.Buffer{}, odd, nil); err != nil {
		t.Error(err)
	}
	if err := SearchTable(brokenPipe{}, odd, nil); !errors.Is(err, errPipe) {
		t.Errorf("err = %v", err)
	}
}

var errPipe = errors.New("broken pipe")

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errPipe }

// The table of a search must have a row for a value that only some documents contain, such as the reason for the math
// mode, if the document contains the value.
func TestRowsOfWhatIsKnown(t *testing.T) {
	plain := shown(t, convolution())
	for row, change := range map[string]func(*bestconfig.Document){
		"math        tf32, as PyTorch does\n": func(b *bestconfig.Document) { b.Problem.MathBy = "as PyTorch does" },
	} {
		b := convolution()
		change(&b)
		if got := shown(t, b); strings.Contains(plain, row[:12]) || !strings.Contains(got, "\n"+row) {
			t.Errorf("want %q in\n%s", row, got)
		}
	}
}

// If outputs were compared with the winner's, the table and the document must say whether they agree.
func TestOutputsWhereCompared(t *testing.T) {
	b := convolution()
	for name, o := range map[string]final.Outputs{
		torchtimes.Eager:     {MaxAbsError: 3.14e-6, ATol: 1e-4, RTol: 1e-5, Elements: 9},
		torchtimes.Compile:   {MaxAbsError: 2e-6, ATol: 1e-4, RTol: 1e-5, Elements: 9},
		torchtimes.EagerFP32: {MaxAbsError: 0.5, ATol: 1e-4, RTol: 1e-5, Elements: 9, Differing: 2},
	} {
		b.Baselines[name] = tuner.Baseline{TimeMS: 8, Speedup: 1.5, CI95: [2]float64{1.4, 1.6}, Outputs: &o}
	}
	want := []string{
		"outputs agree with the winner's: PyTorch eager with a largest error of 3.1e-06, torch.compile with a largest error of 2e-06; the tolerance is 0.0001 plus 1e-05 of the element",
		"outputs differ from the winner's: PyTorch eager, fp32 with a largest error of 0.5; the tolerance is 0.0001 plus 1e-05 of the element",
	}
	if got := outputsTexts(b); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	var table, document bytes.Buffer
	must.OK(t, errors.Join(BenchTable(&table, b), b.WriteJSON(&document)))
	if words := strings.Join(strings.Fields(table.String()), " "); !strings.Contains(words, want[0]) || !strings.Contains(words, want[1]) {
		t.Error(table.String())
	}
	read, err := bestconfig.Read(&document)
	if err != nil || *read.Baselines[torchtimes.EagerFP32].Outputs != *b.Baselines[torchtimes.EagerFP32].Outputs || read.Baselines[bestconfig.Default].Outputs != nil {
		t.Errorf("%+v, %v", read.Baselines, err)
	}
}
