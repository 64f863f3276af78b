package final

import (
	"slices"
	"testing"
	"time"

	"autotune/device"
)

// If there is enough time, the finals also time the untuned default again.
func TestSlowDefaultInTheFinals(t *testing.T) {
	for _, c := range []struct {
		ms    float64
		limit time.Duration
		want  []int64
	}{
		{2, time.Second, []int64{2, 1}},
		{20, time.Second, []int64{2, 1}},
		{20, 125 * time.Millisecond, []int64{2}},
		{300, time.Second, []int64{2}},
	} {
		f := NewField(1, nil)
		f.Enter(1, tried(1, 0, c.ms))
		f.Enter(2, tried(2, 0, 1))
		j := judge{Case: Case{Subject: Subject{Protocol: device.DefaultProtocol()}}, field: f, rounds: map[int64]int{}, began: time.Now(), limit: c.limit}
		if got := j.round(); !slices.Equal(got, c.want) {
			t.Errorf("a default of %g ms and %v: %v are timed, want %v", c.ms, c.limit, got, c.want)
		}
	}
}

// The gate of neighbours does not wait for compilers after its time limit.
func TestNeighboursTooLate(t *testing.T) {
	found := []neighbour{{Subject: Subject{Problem: problem(t)}}}
	n := &Nearby{found: found, known: make(chan struct{}), compiled: make(chan struct{})}
	close(n.known)
	g := gatekeeper{nearby: n, began: time.Now().Add(-time.Second), limit: time.Second}
	if err := g.neighbours(t.Context()); err != nil || !slices.Equal(g.tried.LeftOut, []string{problem(t).String()}) || g.tried.Alone {
		t.Errorf("%v, left out %q", err, g.tried.LeftOut)
	}
}
