package trial

import (
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"autotune/internal/lists"
)

// Summarise reduces samples, in milliseconds per launch, to a Timing. The confidence interval, which assumes no
// distribution, is the pair of order statistics that covers the median with 95 % probability (binomial; Hahn and
// Meeker, Statistical Intervals, 5.2). For fewer than six samples no pair of order statistics covers the median with 95
// % probability, and the interval is the range of all samples.
func Summarise(samples []float64, batch int) Timing {
	if len(samples) == 0 {
		return Timing{}
	}
	sorted := slices.Sorted(slices.Values(samples))
	low, high := medianRanks(len(sorted))
	return Timing{
		Median:    Quantile(sorted, 0.5),
		CI95:      [2]float64{sorted[low], sorted[high]},
		Quartiles: [2]float64{Quantile(sorted, 0.25), Quantile(sorted, 0.75)},
		Min:       sorted[0],
		Samples:   len(sorted),
		Batch:     batch,
	}
}

// medianRanks returns the 0-based ranks of the two of n sorted samples that bound the median with 95 % probability.
func medianRanks(n int) (low, high int) {
	b := distuv.Binomial{N: float64(n), P: 0.5}
	for k := n/2 - 1; k >= 0; k-- {
		// If B is the number of samples below the median, the samples of ranks k and n-1-k enclose the median with
		// the probability 1 - 2 P(B <= k).
		if 1-2*b.CDF(float64(k)) >= 0.95 {
			return k, n - 1 - k
		}
	}
	return 0, n - 1
}

// Quantile interpolates between the order statistics around position p (n-1) of n values in ascending order. sorted
// must contain at least one value. Quantile's definition is Hyndman and Fan's type 7, as in R, NumPy and PyTorch, for
// which an odd count's median is the middle sample; gonum's LinInterp is their type 4.
func Quantile(sorted []float64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	below := int(at)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (at-float64(below))*(sorted[above]-sorted[below])
}

// Median returns the median of values in any order, or 0 if there are none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return Quantile(slices.Sorted(slices.Values(values)), 0.5)
}

// Resolution is the smallest relative difference of two medians that is treated as a difference in speed. In an
// experiment, the medians of one kernel that was timed under ten names differed by up to half of Resolution.
const Resolution = 0.002

// Reaches reports whether the confidence interval overlaps that of a faster timing, so that the samples do not show
// which variant is faster.
func (t Timing) Reaches(faster Timing) bool {
	return t.CI95[0] <= faster.CI95[1]*(1+Resolution)
}

// Noise returns the interquartile range of the samples divided by their median.
func (t Timing) Noise() float64 {
	if t.Median == 0 {
		return 0
	}
	return math.Abs(t.Quartiles[1]-t.Quartiles[0]) / t.Median
}

// MS converts a duration to milliseconds; DurationOf is its inverse.
func MS(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// DurationOf converts a number of milliseconds to a duration.
func DurationOf(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// The time of a launch lies between minMS and maxMS milliseconds, that is between a nanosecond and eleven days.
const minMS, maxMS = 1e-6, 1e9

// CheckMS returns an error if one of the times, in milliseconds, cannot be the time of a launch.
func CheckMS(times ...float64) error {
	for _, ms := range times {
		if !(ms >= minMS && ms <= maxMS) {
			return fmt.Errorf("%v is no time of a launch: want milliseconds from %g to %g", ms, minMS, maxMS)
		}
	}
	return nil
}

// falseAlarms is the accepted probability that an unchanged variant is reported as slower.
const falseAlarms = 1.0 / 1000

// Noise returns a variant's time over all turns (now), and the relative increase over an earlier recorded time that may
// occur although the variant has not changed (noise). In each turn the variant is timed twice, and the two timings are
// called sides; first and second are the medians of the two sides, in milliseconds, one per turn.
//
// The variance of the medians of one side (one of the two timings in each turn) includes every change of this
// machine from one turn to the next, drifts included. Both sides of a turn (its two timings) share the turn's
// drift, so the degrees of freedom are those of one side. noise is Student's bound for the difference of two means.
// The returned noise is never below the Resolution, nor below the measured difference between the two sides.
func Noise(first, second []float64, recorded int) (now, noise float64) {
	a, b := lists.Of(first, math.Log), lists.Of(second, math.Log)
	turns := float64(len(a))
	meanA, varianceA := stat.MeanVariance(a, nil)
	meanB, varianceB := stat.MeanVariance(b, nil)
	now = math.Exp((meanA + meanB) / 2)
	least := max(Resolution, math.Abs(math.Expm1(meanA-meanB)))
	if len(a) < 2 {
		return now, least
	}
	quantile := distuv.StudentsT{Sigma: 1, Nu: turns - 1}.Quantile(1 - falseAlarms)
	spread := math.Sqrt((varianceA + varianceB) / 2 * (1/turns + 1/float64(max(1, recorded))))
	return now, max(least, math.Expm1(quantile*spread))
}
