package final

import (
	"context"
	"math"
	"testing"

	"autotune/tuner/device"
)

// drifting is a rival that takes twice the winner's time, and a share more in each turn.
type drifting struct{ turn int }

func (d *drifting) Names() []string            { return []string{"twice"} }
func (d *drifting) Left() []string             { return nil }
func (d *drifting) Advice([]Compared) []string { return nil }
func (d *drifting) Close() error               { return nil }
func (d *drifting) Time(context.Context, string) (float64, error) {
	d.turn++
	return 10 * (1 + 0.001*float64(d.turn)), nil
}

// A rival is timed in turns with the winner. The speedup is the mean ratio, within its interval.
func TestBeside(t *testing.T) {
	p := problem(t)
	s := Subject{Problem: p, Device: &bench{takes: map[int64]float64{2: 5}}, Protocol: device.ProtocolFor(p.Operator), Launches: Launches}
	all, err := Beside(t.Context(), s, tried(2, 0, 1).Configuration, &drifting{})
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	c := all[0]
	if c.Name != "twice" || math.Abs(c.TimeMS-10.045) > 1e-9 || math.Abs(c.Speedup-2.009) > 1e-3 {
		t.Errorf("%+v", c)
	}
	if !(c.CI95[0] < c.Speedup && c.Speedup < c.CI95[1] && c.CI95[1]/c.CI95[0] < 1.01) {
		t.Errorf("the interval of %v is %v", c.Speedup, c.CI95)
	}
}
