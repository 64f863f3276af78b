package final

import (
	"context"
	"errors"
	"math"
	"testing"

	"autotune/device"
	"autotune/operator"
)

// drifting is a rival that takes twice the winner's time at first, and slightly more in each turn.
type drifting struct{ turn int }

func (d *drifting) Names() []string { return []string{"twice"} }
func (d *drifting) Left() []string  { return nil }
func (d *drifting) Close() error    { return nil }
func (d *drifting) Outputs(string) *Outputs {
	return &Outputs{MaxAbsError: 0.25, ATol: 0.1, Differing: 2, Elements: 9}
}
func (d *drifting) Prepare(context.Context, *operator.Problem, device.Protocol) {}
func (d *drifting) Start(_ context.Context, _ *operator.Problem, _ device.Protocol, leave func() string) (Rival, error) {
	if leave() == "" {
		return nil, errors.New("nothing was left")
	}
	return d, nil
}
func (d *drifting) Time(context.Context, string) (float64, error) {
	d.turn++
	return 10 * (1 + 0.001*float64(d.turn)), nil
}

// Beside times a rival in turns with the winner. The speedup is the mean ratio of the rival's times to the winner's,
// and lies within its interval.
func TestBeside(t *testing.T) {
	p := problem(t)
	s := Subject{Problem: p, Device: &bench{takes: map[int64]float64{2: 5}}, Protocol: device.ProtocolFor(p.Operator), Launches: Launches}
	all, notes, err := Beside(t.Context(), s, tried(2, 0, 1).Configuration, &drifting{})
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	if want := "the output of twice differs from the winner's in 2 of 9 elements: largest error 0.25, tolerance 0.1 plus 0 of the element"; len(notes) != 1 || notes[0] != want {
		t.Errorf("notes %q, want %q", notes, want)
	}
	c := all[0]
	if c.Name != "twice" || math.Abs(c.TimeMS-10.045) > 1e-9 || math.Abs(c.Speedup-2.009) > 1e-3 {
		t.Errorf("%+v", c)
	}
	if !(c.CI95[0] < c.Speedup && c.Speedup < c.CI95[1] && c.CI95[1]/c.CI95[0] < 1.01) {
		t.Errorf("the interval of %v is %v", c.Speedup, c.CI95)
	}
}
