package simulate

import (
	"context"

	"autotune/tuner/strategy"
)

// sample is a moment of a run: when, in milliseconds of the simulated clock,
// and the rank of the best configuration by then. Rank 0 is the best.
type sample struct {
	ms   float64
	rank int32
}

// play lets a strategy search the recording until the time or the budget is
// spent, nothing is left or the context ends, and returns the moments after each evaluation
// from the first success on.
func (g *game) play(ctx context.Context, s strategy.Strategy, budget int) []sample {
	var samples []sample
	clock, best := 0.0, int32(-1)
	for n := 0; ctx.Err() == nil && clock <= g.untilMS && (budget == 0 || n < budget); n++ {
		ids := s.Ask(1)
		if len(ids) == 0 {
			break
		}
		row := g.Rows[ids[0]]
		clock += row.CostMS
		if row.OK && (best < 0 || g.ranks[ids[0]] < best) {
			best = g.ranks[ids[0]]
		}
		if best >= 0 {
			samples = append(samples, sample{clock, best})
		}
		s.Tell(ids[0], row.outcome())
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
