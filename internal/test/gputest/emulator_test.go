package gputest

import (
	"testing"

	"autotune/device/emulator"
	"autotune/internal/test/endurance"
	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
	"autotune/operator"
)

// fewest is the least number of rows of the test table that every operator must have.
const fewest = 25

func operators(t *testing.T) []*operator.Operator {
	t.Helper()
	all, err := operator.Operators()
	must.OK(t, err)
	return all
}

// Every row of the test table can be bound on any GPU, and every operator has rows.
func TestCasesBind(t *testing.T) {
	limits := operator.Limits{Arch: 90, SMs: 132, MaxThreadsPerBlock: 1024, MaxSharedPerBlock: 232448,
		SharedPerSM: 233472, RegistersPerSM: 65536, WarpSize: 32, L2Bytes: 50 << 20, MemoryBytes: 80 << 30}
	for _, o := range operators(t) {
		if len(casesOf(o)) < fewest {
			t.Errorf("%s has %d rows; add some to reach %d", o.Name, len(casesOf(o)), fewest)
		}
		for _, row := range endurance.Some(casesOf(o), 12) {
			for _, math := range modes(o, row) {
				p, err := bind(o, row, math, limits)
				if err != nil {
					t.Errorf("%s %s: %v", o.Name, row, err)
				} else if len(p.Defaults(t.Context())) == 0 {
					t.Errorf("%s: no template serves it", p)
				}
			}
		}
	}
}

// The emulator runs the defaults on one row of each operator, so that the tests also work without a GPU. The test omits
// operators in freeCases and operators that reduce or scan rows, since other tests emulate those.
func TestEmulator(t *testing.T) {
	testneeds.Nothing(t)
	d := openEmulator(t, emulator.Options{})
	v := &prover{device: d, few: true}
	for _, o := range operators(t) {
		if ofRows(o) || freeCases[o.Name] != nil {
			continue
		}
		p, err := bind(o, casesOf(o)[9], o.MathModes[0], d.Info().Limits)
		must.OK(t, err)
		v.proveAlone(t, p.Whole())
	}
	t.Log("\n" + v.tally.String())
}
