package verify

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// racingError is how often racing may drop a variant that it should not, were the
	// spread of its samples known.
	racingError = 0.001
	// spreadDoubt is how often the true spread is beyond the bound taken for it.
	spreadDoubt = 0.05
	// leastSpread is the least standard deviation that samples are taken to have,
	// relative to their mean: a few that agree may all be off by so much.
	leastSpread = 0.005
)

// surelyAbove tells whether the samples' centre, of two at least, is above a
// bound. It may be asked after every sample. It looks at a confidence sequence of
// the logarithms' mean, with the upper confidence bound of their standard
// deviation. The sequence is the mixture boundary of Robbins (Statistical methods
// related to the law of the iterated logarithm, 1970). Howard and others state it
// as equation 14 of Time-uniform, nonparametric, nonasymptotic confidence
// sequences, 2021.
func surelyAbove(samples []float64, bound float64) bool {
	logs := make([]float64, len(samples))
	for i, ms := range samples {
		logs[i] = math.Log(ms / bound)
	}
	mean, deviation := stat.MeanStdDev(logs, nil)
	n := float64(len(samples))
	most := deviation * math.Sqrt((n-1)/distuv.ChiSquared{K: n - 1}.Quantile(spreadDoubt))
	return mean > max(most, leastSpread)*math.Sqrt((n+1)*math.Log((n+1)/(racingError*racingError)))/n
}
