package simulate

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/interp"

	"autotune/device/trial"
	"autotune/internal/lists"
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

// evaluation is one that a device is at.
type evaluation struct {
	endMS float64
	id    int64
}

// play lets a strategy search the recording until the time or the budget is spent, nothing is left
// or the context ends. It returns the moments after each evaluation, from the first success on. The
// clock is that of all devices together: the search's time multiplied by the devices. So many
// devices can be compared with one.
func (g *game) play(ctx context.Context, s strategy.Strategy, budget int, c crew) []sample {
	var samples []sample
	var waiting []int64
	var running []evaluation // the next to end is last
	clock, best, asked, left := 0.0, int32(-1), 0, true
	for ctx.Err() == nil && clock*float64(c.devices) <= g.untilMS {
		for left && len(waiting)+len(running) < c.devices*(1+c.ahead) {
			var id int64
			if left = budget == 0 || asked < budget; left {
				id, left = s.Ask()
			}
			if left {
				waiting = append(waiting, id)
				asked++
			}
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

// baseline is the best value that random search without replacement is
// expected to have found, as a smooth function of time.
type baseline struct {
	meanMS float64 // of an evaluation that works, with its share of the failures' cost
	curve  interp.Predictor
	last   float64 // evaluations up to which the curve goes
}

func newBaseline(rows []Row, valid []float64, toMS float64) baseline {
	b := baseline{meanMS: meanCost(rows)}
	evaluations := 2
	if b.meanMS > 0 {
		evaluations = max(2, int(math.Ceil(toMS/b.meanMS))+1)
	}
	// A knot for each evaluation at which the value changes, and the last.
	var at, value []float64
	for m := 1; m <= evaluations; m++ {
		v := afterDraws(valid, m)
		if n := len(value); n == 0 || v != value[n-1] || m == evaluations {
			at, value = append(at, float64(m)), append(value, v)
		}
	}
	b.last = float64(evaluations)
	var monotone interp.FittablePredictor = new(interp.FritschButland)
	if len(at) < 3 { // too few for it
		monotone = new(interp.PiecewiseLinear)
	}
	b.curve = fitted(monotone, at, value)
	return b
}

// meanCost is the mean cost of an evaluation that works, with its share of the failures' cost.
func meanCost(rows []Row) float64 {
	var ok, failed, okMS, failedMS float64
	for _, row := range rows {
		if row.OK {
			ok, okMS = ok+1, okMS+row.CostMS
		} else {
			failed, failedMS = failed+1, failedMS+row.CostMS
		}
	}
	mean := okMS / ok
	if failed > 0 {
		mean += failed / (ok + failed) * failedMS / failed
	}
	return mean
}

// afterDraws is the value whose rank, from the worst, is the expected one of the
// best of m draws.
func afterDraws(valid []float64, m int) float64 {
	n := len(valid)
	rank := int(math.Round(float64(m) * float64(n+1) / float64(m+1)))
	return valid[n-1-min(n-1, rank)]
}

// fitted is a curve through points, or a level line if they are too few.
func fitted(curve interp.FittablePredictor, x, y []float64) interp.Predictor {
	if len(x) < 2 || curve.Fit(x, y) != nil {
		return interp.Constant(y[0])
	}
	return curve
}

// at is the value after that time.
func (b baseline) at(ms float64) float64 {
	m := 1.0
	if b.meanMS > 0 {
		m = max(1, ms/b.meanMS)
	}
	return b.curve.Predict(min(m, b.last))
}

// The window of time begins and ends at these shares of the way from the median
// to the optimum. Runs go on a little longer.
const (
	windowFrom = 0.01
	windowTo   = 0.95
	overrun    = 1.1
)

// Window is the time, from the start of a search, in which strategies are
// compared: until then any is as good as another, and after it random search
// is nearly there too.
type Window struct {
	FromMS float64 `json:"from_ms"`
	ToMS   float64 `json:"to_ms"`
	// Evaluations that random search is expected to make until the end.
	Evaluations int `json:"evaluations"`
}

// windowOf is the window of a recording whose valid values, best first, are these.
func windowOf(rows []Row, valid []float64) Window {
	costs := lists.Of(rows, func(row Row) float64 { return row.CostMS })
	cost := trial.Median(costs)
	from, to := evaluationsTo(valid, windowFrom), evaluationsTo(valid, windowTo)
	w := Window{FromMS: float64(from) * cost, ToMS: float64(to) * cost, Evaluations: to}
	if !(w.ToMS > w.FromMS) { // so few configurations, or equal ones
		w.ToMS = w.FromMS + cost
	}
	return w
}

// evaluationsTo is how many evaluations random search is expected to need to
// come this share of the way from the median to the optimum.
func evaluationsTo(valid []float64, share float64) int {
	best, n := valid[0], len(valid)
	target := best + (trial.Median(valid)-best)*(1-share)
	worse := n - sorted(valid, target)
	return int(math.Ceil(float64(worse) / float64(n+1-worse)))
}

// sorted is how many of the values, which are in order, are at most x.
func sorted(values []float64, x float64) int {
	n, exact := slices.BinarySearch(values, x)
	for exact && n < len(values) && values[n] == x {
		n++
	}
	return n
}

// times are the points of the window at which curves are compared.
func (w Window) times(n int) []float64 {
	t := make([]float64, n)
	for i := range t {
		t[i] = w.FromMS + (w.ToMS-w.FromMS)*float64(i)/float64(max(n-1, 1))
	}
	return t
}
