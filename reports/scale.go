package reports

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// manyTimes is the ratio beyond which a linear axis no longer shows the small.
const manyTimes = 10

// scale places the numbers of an axis, linearly or by their logarithm. Its low
// end is at 0 either way, which is where bars begin.
type scale struct {
	log       bool
	low, high float64 // the ends of the axis
	cut       float64 // a longer bar is drawn broken, and ends at high; 0: none is
}

// at is the place of x on the axis.
func (s scale) at(x float64) float64 {
	if s.log {
		return math.Log10(x) - math.Log10(s.low)
	}
	return x - s.low
}

// label is an axis' label, which says if the scale is logarithmic.
func (s scale) label(what string) string {
	if s.log {
		return what + ", logarithmic"
	}
	return what
}

// apply gives an axis the scale. The ticks' numbers are the values times unit.
func (s scale) apply(axis *plot.Axis, unit float64) {
	axis.Min, axis.Max = 0, s.at(s.high)
	numbers, end := linearTicks, s.high
	if s.log {
		numbers = logTicks
	} else if s.cut > 0 {
		end = s.cut
	}
	var ticks plot.ConstantTicks
	values := numbers(s.low*unit, end*unit)
	for i, label := range tickLabels(values) {
		ticks = append(ticks, plot.Tick{Value: s.at(values[i] / unit), Label: label})
	}
	axis.Tick.Marker = ticks
}

// barScale chooses how bars of these lengths are best drawn: linear; linear with
// the one bar that dwarfs the others cut short; or logarithmic.
func barScale(values []float64) scale {
	sorted := slices.Sorted(slices.Values(values))
	low, high := sorted[0], sorted[len(sorted)-1]
	if high <= manyTimes*low {
		return scale{high: high}
	}
	if n := len(sorted); n > 2 && sorted[n-2] <= manyTimes*low && high > 2*sorted[n-2] {
		return scale{high: 1.6 * sorted[n-2], cut: 1.15 * sorted[n-2]}
	}
	return scale{log: true, low: math.Pow(10, math.Floor(math.Log10(low*0.8))), high: high}
}

// dotScale is a scale for dots: it need not begin at zero, and is logarithmic
// when the slow ones would press the fast ones together.
func dotScale(low, high float64) scale {
	if high > 4*low {
		return scale{log: true, low: low * math.Pow(high/low, -0.06), high: high * math.Pow(high/low, 0.08)}
	}
	pad := (high - low) * 0.16
	if pad == 0 {
		pad = high * 0.05
	}
	return scale{low: max(0, low-pad/2), high: high + pad}
}

// linearTicks are four to nine round numbers between low and high.
func linearTicks(low, high float64) []float64 {
	if !(high > low) {
		return []float64{low}
	}
	step := math.Pow(10, math.Floor(math.Log10(high-low)))
	switch span := (high - low) / step; {
	case span < 2:
		step /= 5
	case span < 4:
		step /= 2
	}
	var ticks []float64
	// Counted in whole steps, so that no rounding error adds up.
	for i := math.Ceil(low/step - 1e-9); i*step <= high*(1+1e-9); i++ {
		ticks = append(ticks, i*step)
	}
	return ticks
}

// logTicks are 1, 2 and 5 of each decade between low and high. Over more than three
// decades they are powers of ten alone. In less than half a decade they are linear.
func logTicks(low, high float64) []float64 {
	decades := math.Log10(high / low)
	if decades < 0.5 {
		return linearTicks(low, high)
	}
	digits, every := []float64{1, 2, 5}, 1.0
	if decades > 3 {
		digits, every = digits[:1], math.Ceil(decades/8)
	}
	var ticks []float64
	for power := math.Floor(math.Log10(low)); power <= math.Log10(high); power += every {
		for _, digit := range digits {
			if x := digit * math.Pow(10, power); x >= low*(1-1e-9) && x <= high*(1+1e-9) {
				ticks = append(ticks, x)
			}
		}
	}
	return ticks
}

// tickLabels writes an axis' numbers, all of them with a power of ten where one
// is too long to stand beside the next.
func tickLabels(values []float64) []string {
	format := byte('f')
	for _, x := range values {
		if x >= 1e6 || x > 0 && x < 1e-4 {
			format = 'e'
		}
	}
	var labels []string
	for _, x := range values {
		// Six digits leave out the error of the arithmetic.
		rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64)
		label := strconv.FormatFloat(rounded, format, -1, 64)
		if x == 0 {
			label = "0"
		}
		labels = append(labels, strings.NewReplacer("e+0", "e", "e-0", "e-", "e+", "e").Replace(label))
	}
	return labels
}
