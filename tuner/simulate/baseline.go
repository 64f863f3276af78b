package simulate

import (
	"math"

	"gonum.org/v1/gonum/interp"
)

// baseline is the best value that random search without replacement is
// expected to have found, as a smooth function of time.
type baseline struct {
	meanMS float64 // of an evaluation, failures charged to those that work
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
	b.curve = pchip(at, value)
	return b
}

// meanCost is what an evaluation that works costs on average, with its share of
// those that fail.
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

// pchip is the interpolation that keeps what is monotone monotone.
func pchip(x, y []float64) interp.Predictor {
	var curve interp.FittablePredictor = new(interp.FritschButland)
	if len(x) < 3 { // too few for it
		curve = new(interp.PiecewiseLinear)
	}
	if err := curve.Fit(x, y); err != nil {
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
