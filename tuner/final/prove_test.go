package final

import (
	"strings"
	"testing"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/operator"
)

// Prove times an earlier winner in turns with itself, then puts it through the gates.
func TestProve(t *testing.T) {
	for _, c := range []struct {
		name   string
		wrong  func(a int64, p *operator.Problem, in device.Inputs) bool
		status trial.Status
		fails  string
	}{
		{"as it was", nil, trial.OK, ""},
		{"wrong at a gate", func(a int64, _ *operator.Problem, in device.Inputs) bool { return in.Distribution == "normal" },
			trial.WrongResult, "gate inputs normal, seed 1: y differs"},
	} {
		p := problem(t)
		b := &bench{takes: map[int64]float64{2: 5}, wrong: c.wrong}
		s := Subject{Problem: p, Device: b, Protocol: device.ProtocolFor(p.Operator), Launches: Launches}
		got, err := Prove(t.Context(), s, tried(2, 0, 1).Configuration, 3)
		must.OK(t, err)
		if got.Status != c.status || !strings.Contains(got.Message, c.fails) {
			t.Errorf("%s: %s, %q", c.name, got.Status, got.Message)
		}
		if got.NowMS < 4.999 || got.NowMS > 5.001 || got.Noise != trial.Resolution {
			t.Errorf("%s: %v ms, noise %v", c.name, got.NowMS, got.Noise)
		}
		if n := 2 * policy.turns * 3; c.fails == "" && got.Time.Samples != n {
			t.Errorf("%s: %d samples, want %d", c.name, got.Time.Samples, n)
		}
	}
}
