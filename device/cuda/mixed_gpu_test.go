//go:build cuda && gpu

package cuda

import (
	"slices"
	"strings"
	"testing"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/internal/test/testoperators"
)

// openMixed opens the tests' operator that has an argument of every role.
func openMixed(t *testing.T, n int64, proto device.Protocol) *bench {
	t.Helper()
	return benchOf(t, openGPU(t), "mixed", n, proto)
}

// The tested operator has tensors of many types, with sizes that end within a word and within 16 bytes, and is tested
// on all input distributions. A right variant passes at every launch.
func TestGPUMixedRight(t *testing.T) {
	for _, n := range []int64{1, 3, 1001, 1<<20 + 3, 1<<24 + 1} {
		b := openMixed(t, n, testoperators.Protocol())
		v := b.variant(0)
		if e := b.evaluate(v, 0); e.Status != trial.OK || len(e.SamplesMS) != 12 || e.Time.Batch != 1 {
			t.Errorf("n=%d: %+v", n, e)
		}
		for _, distribution := range []string{"normal", "special", "uniform01"} {
			must.OK(t, b.session.Refill(t.Context(), device.Inputs{Seed: 7, Distribution: distribution}))
			o, launches, err := b.session.Check(t.Context(), v, device.Check{Launches: 7, Exact: true})
			if err != nil || o.Status != trial.OK || launches != 7 {
				t.Errorf("n=%d, %s: %s %s after %d launches, %v", n, distribution, o.Status, o.Message, launches, err)
			}
		}
	}
}

// Restoring tensors before a launch does not count as a part of the launch's time, both in a graph and with a warm
// cache.
func TestGPUMixedConditions(t *testing.T) {
	var medians []float64
	for _, conditions := range []device.Conditions{{}, {Launch: device.Graph}, {L2: device.Warm}} {
		proto := testoperators.Protocol()
		proto.Conditions = conditions
		b := openMixed(t, 1<<24, proto)
		e := b.evaluate(b.variant(0), 0)
		if e.Status != trial.OK || e.Time.Batch != 1 {
			t.Errorf("%v: %+v", conditions, e)
		}
		medians = append(medians, e.Time.Median)
	}
	// The kernel moves 30 bytes per element; restoring the tensors moves 16 bytes more.
	if slices.Max(medians[:2]) > 1.15*slices.Min(medians[:2]) {
		t.Errorf("stream and graph take %v ms", medians[:2])
	}
}

// The device must notice every fault in the table, and evaluate the next variant as if nothing had happened.
func TestGPUMixedNotices(t *testing.T) {
	b := openMixed(t, 1<<20+3, testoperators.Protocol())
	for _, tt := range []struct {
		name    string
		mode    int64
		message string
	}{
		{"a wrong f16", 1, "y differs from the reference in 1 of 1048579 elements, first at [777]: "},
		{"an i32 off by one", 2, "c differs from the reference in 1 of 1048579 elements, first at [777]: "},
		{"a byte behind u", 3, "it wrote outside its tensors: 1 word after u"},
		{"not restored", 4, "after the timed launches "},
		{"a workspace that should hold zeros", 5, "(1048579 NaN or infinite"},
		{"left alone", 6, "total differs from the reference in "},
		{"a changed input", 7, "it changed q, which it may only read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if e := b.evaluate(b.variant(tt.mode), 0); e.Status != trial.WrongResult || !strings.Contains(e.Message, tt.message) {
				t.Errorf("%s %q, want %q", e.Status, e.Message, tt.message)
			}
			if e := b.evaluate(b.variant(0), 0); e.Status != trial.OK {
				t.Errorf("the next variant: %s %s", e.Status, e.Message)
			}
		})
	}
}

// A reference that leaves an integer output unwritten is detected, although the memory held valid integers before.
func TestGPUReferenceLeavesIntegers(t *testing.T) {
	b := openMixed(t, 1000, testoperators.Protocol())
	k, err := b.problem.Reference()
	must.OK(t, err)
	for what, line := range map[string]string{"u": "u[i] = ", "c": "c[i] = "} {
		lazy := k
		lazy.Source = strings.Replace(k.Source, line, "if (i % 100 != 3) "+line, 1)
		_, err := b.device.Open(t.Context(), b.problem, b.compile(lazy), testoperators.Protocol())
		if want := "leaves 10 of 1000 elements of " + what + " unwritten, the first at [3]"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want one that %s", err, want)
		}
	}
}
