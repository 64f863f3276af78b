package reports

import (
	"bytes"
	"strings"
	"testing"

	"autotune/internal/test/must"
	"autotune/tuner"
	"autotune/tuner/bestconfig"
	"autotune/tuner/torchtimes"
)

// inTurnsWith is a search whose winner was timed in turns with PyTorch. The confidence interval of each given speedup
// over PyTorch extends 2 % to either side.
func inTurnsWith(speedups map[string]float64) bestconfig.Document {
	b := convolution()
	for name, speedup := range speedups {
		b.Baselines[name] = tuner.Baseline{TimeMS: speedup * b.Time.Median, Speedup: speedup, CI95: [2]float64{speedup * 0.98, speedup * 1.02}}
	}
	return b
}

// If the confidence interval shows that PyTorch is faster than the winner, the first line of a table must say so;
// otherwise no line may say that PyTorch is faster.
func TestPyTorchIsFaster(t *testing.T) {
	for want, b := range map[string]bestconfig.Document{
		"PyTorch eager is 5.81x as fast as the winner": inTurnsWith(map[string]float64{torchtimes.Eager: 0.172, torchtimes.Compile: 0.3}),
		"torch.compile is 1.25x as fast as the winner": inTurnsWith(map[string]float64{torchtimes.Eager: 0.99, torchtimes.Compile: 0.8}),
	} {
		if first, _, _ := strings.Cut(shown(t, b), "\n"); first != want {
			t.Errorf("the first line is %q, want %q", first, want)
		}
		var again bytes.Buffer
		must.OK(t, b.WriteJSON(&again))
		read, err := bestconfig.Read(&again)
		if text, ok := read.FasterPyTorch(); err != nil || !ok || text != want {
			t.Errorf("the document says %q, %v", text, err)
		}
	}
	elsewhere := convolution()
	elsewhere.Compare(torchtimes.Eager, 0.1) // not timed in turns, so nobody can tell
	for name, b := range map[string]bestconfig.Document{
		"a time measured elsewhere":  elsewhere,
		"an interval that reaches 1": inTurnsWith(map[string]float64{torchtimes.Eager: 0.985}),
		"the untuned default":        inTurnsWith(map[string]float64{bestconfig.Default: 0.9}),
	} {
		if text := shown(t, b); !strings.HasPrefix(text, "problem ") || strings.Contains(text, "as fast as the winner") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

// A summary must have one column for the faster of PyTorch's modes (eager and torch.compile), with a mark if PyTorch is
// faster than the winner.
func TestSummaryMarksFasterPyTorch(t *testing.T) {
	slow, fast := inTurnsWith(map[string]float64{torchtimes.Eager: 0.5, torchtimes.Compile: 0.17}), inTurnsWith(map[string]float64{torchtimes.Eager: 2, torchtimes.Compile: 1.5})
	for width, want := range map[int][]string{
		0:   {"| over untuned default | over PyTorch |", "| 0.17x !      |", "| 1.50x        |", "! PyTorch is faster than the winner.\n"},
		100: {"  PyTorch", "  0.17x !  ", "  1.50x  ", "! PyTorch is faster than the winner.\n"},
	} {
		var out strings.Builder
		must.OK(t, SummaryTable(&out, []bestconfig.Document{slow, fast}, width))
		for _, part := range want {
			if !strings.Contains(out.String(), part) {
				t.Errorf("width %d: no %q in\n%s", width, part, out.String())
			}
		}
		if strings.Contains(out.String(), "eager") || strings.Contains(out.String(), "compile") {
			t.Errorf("each way has a column:\n%s", out.String())
		}
	}
	var out strings.Builder
	if err := SummaryTable(&out, []bestconfig.Document{convolution(), convolution()}, 0); err != nil || !strings.Contains(out.String(), "| over PyTorch eager | over torch.compile |") || strings.Contains(out.String(), "!") {
		t.Errorf("%v; recorded times are as they were:\n%s", err, out.String())
	}
}

// Each problem without a kernel must have exactly one line, whatever its texts contain.
func TestUnsolvedTable(t *testing.T) {
	var out strings.Builder
	err := UnsolvedTable(&out, []Unsolved{{"conv2d 1x2", "no variant", "it\nfails"}, {"matmul 1x2x3x4", "too large", "80 GiB"}})
	const want = "problem         status      reason\nconv2d 1x2      no variant  it fails\nmatmul 1x2x3x4  too large   80 GiB\n"
	if err != nil || out.String() != want {
		t.Errorf("%v, got\n%s", err, out.String())
	}
	out.Reset()
	if err := UnsolvedTable(&out, nil); err != nil || out.String() != "" {
		t.Error(out.String())
	}
}
