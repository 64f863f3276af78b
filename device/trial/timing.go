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

// Summarise reduces samples, in milliseconds a launch, to a Timing. The interval is distribution-free: the order
// statistics that cover the median with 95 % probability (binomial; Hahn and Meeker, Statistical Intervals, 5.2).
// With fewer than six samples no such pair exists and the interval is the whole range.
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

// medianRanks gives the 0-based ranks of the order statistics of n samples
// that bound the median with at least 95 % probability.
func medianRanks(n int) (low, high int) {
	b := distuv.Binomial{N: float64(n), P: 0.5}
	for k := n/2 - 1; k >= 0; k-- {
		// P(rank k < median position <= rank n-1-k) = 1 - 2 P(B <= k).
		if 1-2*b.CDF(float64(k)) >= 0.95 {
			return k, n - 1 - k
		}
	}
	return 0, n - 1
}

// Quantile interpolates between the order statistics around p (n-1) of values in ascending order,
// one at least. It is Hyndman and Fan's type 7, as in R, NumPy and PyTorch. So an odd count's
// median is its middle sample; gonum's LinInterp is their type 4.
func Quantile(sorted []float64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	below := int(at)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (at-float64(below))*(sorted[above]-sorted[below])
}

// Median is the middle of values in any order, 0 if there are none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return Quantile(slices.Sorted(slices.Values(values)), 0.5)
}

// Resolution is the relative difference of two medians below which it means nothing: one kernel
// timed under ten names differs by up to half as much.
const Resolution = 0.002

// Reaches reports whether the interval of this median comes down to that of a
// faster one, so that the samples cannot tell the two apart.
func (t Timing) Reaches(faster Timing) bool {
	return t.CI95[0] <= faster.CI95[1]*(1+Resolution)
}

// Noise is the spread of the middle half of the samples over the median.
func (t Timing) Noise() float64 {
	if t.Median == 0 {
		return 0
	}
	return math.Abs(t.Quartiles[1]-t.Quartiles[0]) / t.Median
}

// MS is a time in milliseconds, and DurationOf gives it back.
func MS(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// DurationOf is a number of milliseconds as a time.
func DurationOf(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// Times of a launch are between these, in milliseconds: a nanosecond and eleven days.
const minMS, maxMS = 1e-6, 1e9

// CheckMS refuses a time that no launch takes.
func CheckMS(times ...float64) error {
	for _, ms := range times {
		if !(ms >= minMS && ms <= maxMS) {
			return fmt.Errorf("%v is no time of a launch: want milliseconds from %g to %g", ms, minMS, maxMS)
		}
	}
	return nil
}

// falseAlarms is how often a variant that did not change may seem slower.
const falseAlarms = 1.0 / 1000

// Noise is by how much, relative, a variant's time may lie above one recorded earlier where nothing changed. The
// variant was timed against itself: first and second are its medians, in milliseconds, in turns that follow each
// other. now is its time over all turns. recorded is of how many turns the earlier time is, 0 if that is unknown.
//
// The medians of one side differ by what this machine's turns differ by, drifts included. Both sides of a turn share
// its drift, so the degrees of freedom are those of one side. The bound is Student's, of the difference of two means.
// It is never below the Resolution, nor below what the two sides, which are the same, differ by.
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
