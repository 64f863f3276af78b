package simulate

import (
	"context"
	"math"
	"sort"

	"gonum.org/v1/gonum/interp"

	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/tuner/strategy"
)

// sample is a point of a simulated run: the time on the simulated clock in milliseconds, and the rank of the best
// configuration found by then. The best configuration of the recording has rank 0.
type sample struct {
	ms           float64
	rank, repeat int
}

// game is a recording with the data for scoring strategies on it.
type game struct {
	*Recording
	valid    []float64 // values of valid configurations, the best first
	ranks    []int     // index into valid for each configuration
	window   Window
	times    []float64
	baseline []float64 // value of random search at each of times
	untilMS  float64
}

// The constant `points` is the number of moments, spread over the window, at which strategies are compared. The window
// begins when random search is expected to have come windowFrom of the way from the median time to the optimum, and
// ends when it has come windowTo of the way. A simulated run continues until `overrun` times the end of the window.
const (
	points     = 1000
	windowFrom = 0.01
	windowTo   = 0.95
	overrun    = 1.1
)

func newGame(r *Recording) *game {
	g := &game{Recording: r, valid: r.Valid(), ranks: make([]int, len(r.Rows))}
	for id, row := range r.Rows {
		if row.OK {
			g.ranks[id] = sorted(g.valid, row.Value) - 1
		}
	}
	g.window = windowOf(r.Rows, g.valid)
	g.untilMS = g.window.ToMS * overrun
	from, length := g.window.FromMS, g.window.ToMS-g.window.FromMS
	g.times = lists.Of(lists.Places(points), func(i int) float64 { return from + length*float64(i)/(points-1) })
	g.baseline = lists.Of(g.times, newBaseline(r.Rows, g.valid, g.untilMS))
	return g
}

// play runs a strategy on the recording until the time is spent, the strategy ends or ctx is cancelled. play returns a
// sample of each evaluation, beginning with the first success.
func (g *game) play(ctx context.Context, s strategy.Strategy) (samples []sample) {
	clock, best := 0.0, -1
	for ctx.Err() == nil && clock <= g.untilMS {
		id, ok := s.Ask()
		if !ok {
			break
		}
		row := g.Rows[id]
		clock += row.CostMS
		if row.OK && (best < 0 || g.ranks[id] < best) {
			best = g.ranks[id]
		}
		if best >= 0 {
			samples = append(samples, sample{ms: clock, rank: best})
		}
		s.Tell(id, strategy.Outcome{OK: row.OK, Score: row.Value})
	}
	return samples
}

// curve returns the performance of a strategy at each of the times in g.times, where 0 is as good as random search
// and 1 is the optimum. The samples must be in order of time; weights[i] is the weight of the i-th simulated repeat
// of the search.
func (g *game) curve(samples []sample, weights []float64) []float64 {
	var steps []step
	for _, s := range samples {
		if w := weights[s.repeat]; w > 0 {
			steps = append(steps, step{s.ms, -float64(s.rank), w}) // so that better is higher
		}
	}
	if len(steps) == 0 { // nothing was found: count the worst rank
		steps = []step{{0, -float64(len(g.valid) - 1), 1}}
	}
	ranks := nonDecreasing(steps)
	performance := make([]float64, len(g.times))
	for i, ms := range g.times {
		performance[i] = relative(g.valueAt(-ranks.Predict(ms)), g.baseline[i], g.valid[0])
	}
	return performance
}

// relative maps a value to a linear scale on which `base`, the value of random search, is 0, and `best` is 1.
func relative(value, base, best float64) float64 {
	switch {
	case base > best:
		return (base - value) / (base - best)
	case value <= best: // random search has found the best, too, so the scale has no length
		return 1
	}
	return 0
}

// valueAt returns the value at a fractional rank, by linear interpolation.
func (g *game) valueAt(rank float64) float64 {
	low := int(math.Floor(rank))
	if low >= len(g.valid)-1 {
		return g.valid[len(g.valid)-1]
	}
	share := rank - float64(low)
	return g.valid[low]*(1-share) + g.valid[low+1]*share
}

// newBaseline returns a smooth function of time: the best value that random search without replacement is expected to
// have found by then.
func newBaseline(rows []Row, valid []float64, toMS float64) func(ms float64) float64 {
	meanMS := meanCost(rows)
	evaluations := func(ms float64) float64 {
		if meanMS > 0 {
			return max(1, ms/meanMS)
		}
		return 1
	}
	last := max(2, int(math.Ceil(evaluations(toMS)))+1)
	// The interpolated curve has a knot at each number of evaluations at which its value changes, and at the last
	// number.
	var at, value []float64
	for m := 1; m <= last; m++ {
		if v := afterDraws(valid, m); len(value) == 0 || v != value[len(value)-1] || m == last {
			at, value = append(at, float64(m)), append(value, v)
		}
	}
	var curve interp.FittablePredictor = new(interp.FritschButland)
	if len(at) < 3 { // too few points for FritschButland
		curve = new(interp.PiecewiseLinear)
	}
	smooth := fitted(curve, at, value)
	return func(ms float64) float64 { return smooth.Predict(min(evaluations(ms), float64(last))) }
}

// meanCost returns the mean cost of a successful evaluation, including its share of the cost of failures.
func meanCost(rows []Row) float64 {
	var ok, okMS, failedMS float64
	for _, row := range rows {
		if row.OK {
			ok, okMS = ok+1, okMS+row.CostMS
		} else {
			failedMS += row.CostMS
		}
	}
	return okMS/ok + failedMS/float64(len(rows))
}

// afterDraws returns the best value that is expected after m random draws from the valid times: the value at the
// expected rank of the best draw.
func afterDraws(valid []float64, m int) float64 {
	n := len(valid)
	rank := int(math.Round(float64(m) * float64(n+1) / float64(m+1)))
	return valid[n-1-min(n-1, rank)]
}

// fitted returns a curve through the points, or a constant if there are too few points.
func fitted(curve interp.FittablePredictor, x, y []float64) interp.Predictor {
	if len(x) < 2 || curve.Fit(x, y) != nil {
		return interp.Constant(y[0])
	}
	return curve
}

// Window is the interval of a search's time in which strategies are compared. Before the window of a recording all
// strategies perform about equally, and after it even random search is near the optimum.
type Window struct {
	FromMS float64 `json:"from_ms"`
	ToMS   float64 `json:"to_ms"`
	// Evaluations is the number of evaluations that random search is expected to make until the window's end.
	Evaluations int `json:"evaluations"`
}

// windowOf returns the window of a recording whose valid times, the best first, are given.
func windowOf(rows []Row, valid []float64) Window {
	cost := trial.Median(lists.Of(rows, func(row Row) float64 { return row.CostMS }))
	from, to := evaluationsTo(valid, windowFrom), evaluationsTo(valid, windowTo)
	w := Window{FromMS: float64(from) * cost, ToMS: float64(to) * cost, Evaluations: to}
	if !(w.ToMS > w.FromMS) { // few configurations, or all equal
		w.ToMS = w.FromMS + cost
	}
	return w
}

// evaluationsTo returns after how many evaluations random search is expected to have come the fraction `share` of the
// way from the median time to the optimum.
func evaluationsTo(valid []float64, share float64) int {
	best, n := valid[0], len(valid)
	worse := n - sorted(valid, best+(trial.Median(valid)-best)*(1-share))
	return int(math.Ceil(float64(worse) / float64(n+1-worse)))
}

// sorted returns how many of the values, which are in ascending order, are at most x.
func sorted(values []float64, x float64) int {
	return sort.Search(len(values), func(i int) bool { return values[i] > x })
}

// step is a weighted point that the isotonic regression fits.
type step struct{ x, y, weight float64 }

// nonDecreasing returns the isotonic regression of the points: the non-decreasing function of x that is closest to
// them, computed by pooling adjacent violators. The returned regression is linear between the points, and constant
// before the first and after the last point.
func nonDecreasing(points []step) interp.Predictor {
	type block struct { // adjacent points with a common mean
		y, weight   float64
		first, last float64 // range of x
	}
	var blocks []block
	for i := 0; i < len(points); {
		b := block{first: points[i].x, last: points[i].x}
		for ; i < len(points) && points[i].x == b.first; i++ {
			b.y += points[i].y * points[i].weight
			b.weight += points[i].weight
		}
		b.y /= b.weight
		for len(blocks) > 0 && blocks[len(blocks)-1].y >= b.y {
			before := blocks[len(blocks)-1]
			total := before.weight + b.weight
			b = block{(before.y*before.weight + b.y*b.weight) / total, total, before.first, b.last}
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	var x, y []float64
	for _, b := range blocks { // interpolation needs only a block's ends
		x, y = append(x, b.first), append(y, b.y)
		if b.last > b.first {
			x, y = append(x, b.last), append(y, b.y)
		}
	}
	return fitted(new(interp.PiecewiseLinear), x, y)
}
