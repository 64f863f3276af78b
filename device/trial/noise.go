package trial

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"autotune/internal/lists"
)

// falseAlarms is how often a variant that did not change may seem slower.
const falseAlarms = 1.0 / 1000

// Noise is by how much, relative, a variant's time may lie above one recorded earlier
// where nothing changed. The variant was timed against itself: first and second are its
// medians, in milliseconds, in turns that follow each other. now is its time over all turns.
// recorded is of how many turns the earlier time is, 0 if that is unknown.
//
// The medians of one side differ by what this machine's turns differ by, drifts included.
// Both sides of a turn share its drift, so the degrees of freedom are those of one side.
// The bound is Student's, of the difference of two means. It is never below the
// Resolution, nor below what the two sides, which are the same, differ by.
func Noise(first, second []float64, recorded int) (now, noise float64) {
	a, b := logs(first), logs(second)
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

func logs(ms []float64) []float64 {
	return lists.Of(ms, math.Log)
}
