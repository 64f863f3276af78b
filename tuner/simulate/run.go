package simulate

import (
	"cmp"
	"context"
	"slices"

	"autotune/tuner/strategy"
)

// sample is a moment of a run: when, in milliseconds of the simulated clock,
// and the rank of the best configuration by then. Rank 0 is the best.
type sample struct {
	ms   float64
	rank int32
}

// crew is how many devices evaluate side by side, and for how many configurations the
// strategy is asked ahead of each.
type crew struct{ devices, ahead int }

// several is how many devices there are, 0 for one.
func (c crew) several() int {
	if c.devices == 1 {
		return 0
	}
	return c.devices
}

// evaluation is one that a device is at.
type evaluation struct {
	endMS float64
	id    int64
}

// play lets a strategy search the recording until the time or the budget is spent, nothing
// is left or the context ends. It returns the moments after each evaluation, from the first
// success on. The clock is that of all devices together: how long the search took, times
// the devices. So what many of them do can be held against one.
func (g *game) play(ctx context.Context, s strategy.Strategy, budget int, c crew) []sample {
	var samples []sample
	var waiting []int64
	var running []evaluation // the next to end is last
	clock, best, asked, left := 0.0, int32(-1), 0, true
	for ctx.Err() == nil && clock*float64(c.devices) <= g.untilMS {
		for left && len(waiting)+len(running) < c.devices*(1+c.ahead) {
			if left = budget == 0 || asked < budget; !left {
				break
			}
			ids := s.Ask(1)
			left = len(ids) > 0
			waiting = append(waiting, ids...)
			asked += len(ids)
		}
		for len(waiting) > 0 && len(running) < c.devices {
			e := evaluation{clock + g.Rows[waiting[0]].CostMS, waiting[0]}
			at, _ := slices.BinarySearchFunc(running, e, func(a, b evaluation) int { return cmp.Compare(b.endMS, a.endMS) })
			running, waiting = slices.Insert(running, at, e), waiting[1:]
		}
		if len(running) == 0 {
			break
		}
		last := len(running) - 1
		done := running[last]
		running, clock = running[:last], done.endMS
		row := g.Rows[done.id]
		if row.OK && (best < 0 || g.ranks[done.id] < best) {
			best = g.ranks[done.id]
		}
		if best >= 0 {
			samples = append(samples, sample{clock * float64(c.devices), best})
		}
		s.Tell(done.id, row.outcome())
	}
	return samples
}

// game is a recording with what scoring needs to know of it.
type game struct {
	*Recording
	valid    []float64 // best first
	ranks    []int32   // by configuration: its place among valid
	window   Window
	times    []float64
	baseline []float64 // at times
	untilMS  float64
}

// points is how many moments of the window curves are compared at.
const points = 1000

func newGame(r *Recording) *game {
	g := &game{Recording: r, valid: r.Valid(), ranks: make([]int32, len(r.Rows))}
	for id, row := range r.Rows {
		if row.OK {
			g.ranks[id] = int32(sorted(g.valid, row.Value) - 1)
		}
	}
	g.window = windowOf(r.Rows, g.valid)
	g.untilMS = g.window.ToMS * overrun
	g.times = g.window.times(points)
	b := newBaseline(r.Rows, g.valid, g.untilMS)
	for _, t := range g.times {
		g.baseline = append(g.baseline, b.at(t))
	}
	return g
}
