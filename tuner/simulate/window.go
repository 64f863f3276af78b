package simulate

import (
	"math"
	"slices"

	"autotune/tuner/trial"
)

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
	costs := make([]float64, len(rows))
	for i, row := range rows {
		costs[i] = row.CostMS
	}
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
