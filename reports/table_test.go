package reports

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

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
		if err := SearchTable(&out, b, Details{}); err != nil {
			t.Fatal(err)
		}
		golden(t, name, out.Bytes())
		for line := range strings.Lines(out.String()) {
			line = strings.TrimSuffix(line, "\n")
			if utf8.RuneCountInString(line) > tableWidth || strings.TrimRight(line, " ") != line || strings.Contains(line, "\t") {
				t.Errorf("%s: bad line %q", name, line)
			}
		}
	}
	if err := SearchTable(&bytes.Buffer{}, odd, Details{}); err != nil {
		t.Error(err)
	}
	if err := SearchTable(brokenPipe{}, odd, Details{}); !errors.Is(err, errPipe) {
		t.Errorf("err = %v", err)
	}
}

var errPipe = errors.New("broken pipe")

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errPipe }

func TestWording(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{FormatMS(6.27), "6.270 ms"}, {FormatMS(187.44), "187.4 ms"}, {FormatMS(6270), "6270 ms"}, {FormatMS(62701), "62701 ms"},
		{FormatMS(0.71), "0.7100 ms"}, {FormatMS(0.09996), "99.96 µs"}, {FormatMS(0.00512), "5.120 µs"}, {FormatMS(0.1), "0.1000 ms"}, {FormatMS(0), "0.000 ms"},
		{FormatMS(9.99996), "10.00 ms"}, {FormatMS(0.999996), "1.000 ms"},
		{bestconfig.FormatSpeedup(1.134), "1.13x"}, {bestconfig.FormatSpeedup(0.7), "0.70x"}, {bestconfig.FormatSpeedup(9.996), "10.0x"}, {bestconfig.FormatSpeedup(29.88), "29.9x"}, {bestconfig.FormatSpeedup(99.96), "100x"}, {bestconfig.FormatSpeedup(1000), "1000x"},
		{formatPercent(0.507), "50.7 %"}, {formatPercent(1.01), "101 %"}, {formatPercent(0.9996), "100 %"}, {formatPercent(0.0042), "0.420 %"},
		{formatBandwidth(3.03e12), "3.03 TB/s"}, {formatBandwidth(320e9), "320 GB/s"},
		{formatBytes(9_635_000_000), "9.63 GB"}, {formatBytes(5512), "5512 bytes"}, {formatBytes(123_456), "123 kB"}, {formatBytes(1_500_000), "1.50 MB"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// What not every search knows has a row where it is known.
func TestRowsOfWhatIsKnown(t *testing.T) {
	plain := shown(t, convolution(), Details{})
	for row, change := range map[string]func(*bestconfig.Document){
		"energy      1235 mJ a launch\n":      func(b *bestconfig.Document) { b.EnergyMJ = 1234.5678 },
		"math        tf32, as PyTorch does\n": func(b *bestconfig.Document) { b.Problem.MathBy = "as PyTorch does" },
		"best by     the most gflops\n":       func(b *bestconfig.Document) { b.Objective = "max:gflops" },
	} {
		b := convolution()
		change(&b)
		if got := shown(t, b, Details{}); strings.Contains(plain, row[:12]) || !strings.Contains(got, "\n"+row) {
			t.Errorf("want %q in\n%s", row, got)
		}
	}
}

// Where outputs were compared, the table and the document say whether they agree.
func TestOutputsWhereCompared(t *testing.T) {
	b := convolution()
	for name, o := range map[string]final.Outputs{
		torchtimes.Eager:        {MaxAbsError: 3.14e-6, ATol: 1e-4, RTol: 1e-5, Elements: 9},
		torchtimes.Compile:      {MaxAbsError: 2e-6, ATol: 1e-4, RTol: 1e-5, Elements: 9},
		torchtimes.ChannelsLast: {MaxAbsError: 0.5, ATol: 1e-4, RTol: 1e-5, Elements: 9, Differing: 2},
	} {
		b.Baselines[name] = tuner.Baseline{TimeMS: 8, Speedup: 1.5, CI95: [2]float64{1.4, 1.6}, Outputs: &o}
	}
	want := []string{
		"outputs agree with the winner's: PyTorch eager with a largest error of 3.1e-06, torch.compile with a largest error of 2e-06; the tolerance is 0.0001 plus 1e-05 of the element",
		"outputs differ from the winner's: PyTorch nhwc with a largest error of 0.5; the tolerance is 0.0001 plus 1e-05 of the element",
	}
	if got := TextsOf(b, Details{}).Outputs; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	var table, document bytes.Buffer
	if err := errors.Join(BenchTable(&table, b), b.WriteJSON(&document)); err != nil {
		t.Fatal(err)
	}
	if words := strings.Join(strings.Fields(table.String()), " "); !strings.Contains(words, want[0]) || !strings.Contains(words, want[1]) {
		t.Error(table.String())
	}
	read, err := bestconfig.Read(&document)
	if err != nil || *read.Baselines[torchtimes.ChannelsLast].Outputs != *b.Baselines[torchtimes.ChannelsLast].Outputs || read.Baselines[bestconfig.Default].Outputs != nil {
		t.Errorf("%+v, %v", read.Baselines, err)
	}
}
