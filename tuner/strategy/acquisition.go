package strategy

import "math"

// expectedImprovement is by how much a configuration is expected to be better than
// the best loss so far, times the probability that it works.
func expectedImprovement(b belief, best float64) float64 {
	if b.deviation < 1e-12 {
		return b.works * max(0, best-b.mean)
	}
	z := (best - b.mean) / b.deviation
	return b.works * b.deviation * (z*normalCDF(z) + normalPDF(z))
}

func normalCDF(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }

func normalPDF(z float64) float64 { return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) }
