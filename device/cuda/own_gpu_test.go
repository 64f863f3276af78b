//go:build cuda && gpu

package cuda

import (
	"errors"
	"strings"
	"testing"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
	"autotune/internal/test/testoperators"
)

// openOwn edits the files of the tests' operator that fills and compares tensors with its own files and kernels, and
// opens the operator.
func openOwn(t *testing.T, n int64, edits ...string) (b *bench, err error) {
	t.Helper()
	b = &bench{t: t, device: openGPU(t)}
	b.problem = testoperators.Own(t, n, b.device.Info().Limits, edits...)
	if b.problem.Operator.Answers == nil {
		k, err := b.problem.Reference()
		must.OK(t, err)
		b.session, err = b.device.Open(t.Context(), b.problem, b.compile(k), testoperators.Protocol())
		return b, err
	}
	b.session, err = b.device.Open(t.Context(), b.problem, nil, testoperators.Protocol())
	return b, err
}

// For all combinations of ways to fill tensors, compute answers and compare outputs, a right variant passes on all
// inputs and a wrong variant fails.
func TestGPUOwn(t *testing.T) {
	for _, tt := range []struct {
		name   string
		edits  []string
		wrong  [3]string // of modes 1 to 3
		python bool
	}{
		{"a reference kernel", nil, [3]string{"y differs from the reference in 1 of 100003 elements", "total differs from the reference in 1 of 100003 elements", "1 NaN or infinite"}, false},
		{"Python", []string{testoperators.OwnReference, testoperators.OwnPython}, [3]string{"y differs from the reference in 1 of 100003 elements", "total differs from the reference in 1 of 100003 elements", "1 NaN or infinite"}, true},
		{"a comparison", []string{testoperators.OwnReference, testoperators.OwnComparison}, [3]string{
			"compare.cu gives 1024 for how far it is from the reference; it must be 0", "compare.cu gives 1e+06 for", "compare.cu gives 1e+09 for"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.python {
				testneeds.NumPy.Need(t)
			}
			b, err := openOwn(t, 100003, tt.edits...)
			must.OK(t, err)
			right := b.variant(0)
			if e := b.evaluate(right, 0); e.Status != trial.OK || len(e.SamplesMS) != 12 {
				t.Errorf("%+v", e)
			}
			if kernel := b.problem.Operator.Answers == nil; (b.session.Ceilings().ReferenceMS > 0) != kernel {
				t.Errorf("the reference takes %v ms", b.session.Ceilings().ReferenceMS)
			}
			for mode, want := range tt.wrong {
				if e := b.evaluate(b.variant(int64(mode+1)), 0); e.Status != trial.WrongResult || !strings.Contains(e.Message, want) {
					t.Errorf("mode %d: %s %q, want %q", mode+1, e.Status, e.Message, want)
				}
			}
			for _, in := range []device.Inputs{{Seed: 7, Distribution: "normal"}, {Seed: 1, Distribution: "uniform01"}} {
				must.OK(t, b.session.Refill(t.Context(), in))
				o, launches, err := b.session.Check(t.Context(), right, device.Check{Launches: 7, Exact: true})
				if err != nil || o.Status != trial.OK || launches != 7 {
					t.Errorf("%v: %s %s after %d launches, %v", in, o.Status, o.Message, launches, err)
				}
			}
		})
	}
}

// A fault of an operator's own kernel is reported at once, as a fault of that kernel.
func TestGPUOwnFaults(t *testing.T) {
	for want, edits := range map[string][]string{
		"the fill kernel of own is wrong: fill.cu: it wrote outside its tensors: 1 word after k":                       {"#define STRAY 0", "#define STRAY 1"},
		"the fill kernel of own fails: fill.cu: ":                                                                      {"total[i] = i", "*(long long*)(i + 8) = i"},
		"the comparison of own cannot be right: compare.cu gives 1e+06 for the reference against itself; it must be 0": {testoperators.OwnReference, testoperators.OwnComparison, "total[i] != before[i] + k[i]", "total[i] != before[i]"},
	} {
		t.Run(want, func(t *testing.T) {
			_, err := openOwn(t, 1000, edits...)
			var failed *device.ReferenceError
			if !errors.As(err, &failed) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v; want %q", err, want)
			}
		})
	}
}
