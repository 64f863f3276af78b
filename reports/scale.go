package reports

import (
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
)

// manyTimes is the ratio beyond which a linear axis no longer shows the small.
const manyTimes = 10

// scale is an axis of positive numbers.
type scale struct {
	log      bool
	min, max float64 // of the data; a linear one of bars begins at 0
	cut      float64 // a bar beyond this is drawn broken and shorter; 0: none
}

// barScale chooses how bars of these lengths are best drawn: linear; linear with
// the one bar that dwarfs the others cut short; or logarithmic.
func barScale(values []float64) scale {
	sorted := slices.Sorted(slices.Values(values))
	low, high := sorted[0], sorted[len(sorted)-1]
	if high <= manyTimes*low {
		return scale{max: high}
	}
	if n := len(sorted); n > 2 && sorted[n-2] <= manyTimes*low && high > 2*sorted[n-2] {
		return scale{max: 1.6 * sorted[n-2], cut: 1.15 * sorted[n-2]}
	}
	return scale{log: true, min: math.Pow(10, math.Floor(math.Log10(low*0.8))), max: high}
}

// apply gives an axis the scale, with room of that share of its length above
// the largest value. The ticks' numbers are the values times unit.
func (s scale) apply(axis *plot.Axis, room, unit float64) {
	if !s.log {
		axis.Min, axis.Max = s.min, s.min+(s.max-s.min)/(1-room)
		end := s.max
		if s.cut > 0 {
			end = s.cut
		}
		axis.Tick.Marker = plot.ConstantTicks(linearTicks(s.min, end, unit))
		return
	}
	axis.Scale = plot.LogScale{}
	axis.Min, axis.Max = s.min, s.min*math.Pow(s.max/s.min, 1/(1-room))
	axis.Tick.Marker = plot.ConstantTicks(logTicks(s.min, s.max, unit))
}

// linearTicks are four to nine round numbers between min and max.
func linearTicks(min, max, unit float64) []plot.Tick {
	min, max = min*unit, max*unit
	if !(max > min) {
		return []plot.Tick{{Value: min / unit, Label: tickLabel(min)}}
	}
	step := math.Pow(10, math.Floor(math.Log10(max-min)))
	switch span := (max - min) / step; {
	case span < 2:
		step /= 5
	case span < 4:
		step /= 2
	}
	var ticks []plot.Tick
	// Counted in whole steps, so that no rounding error adds up.
	for i := math.Ceil(min/step - 1e-9); i*step <= max*(1+1e-9); i++ {
		ticks = append(ticks, plot.Tick{Value: i * step / unit, Label: tickLabel(i * step)})
	}
	return ticks
}

// logTicks are 1, 2 and 5 of each decade between min and max, only the powers
// of ten when there are more than three decades, and linear ones when there is
// less than half a decade.
func logTicks(min, max, unit float64) []plot.Tick {
	decades := math.Log10(max / min)
	if decades < 0.5 {
		return linearTicks(min, max, unit)
	}
	min, max = min*unit, max*unit
	digits := []float64{1, 2, 5}
	if decades > 3 {
		digits = digits[:1]
	}
	var ticks []plot.Tick
	for power := math.Floor(math.Log10(min)); power <= math.Log10(max); power++ {
		for _, digit := range digits {
			if value := digit * math.Pow(10, power); value >= min*(1-1e-9) && value <= max*(1+1e-9) {
				ticks = append(ticks, plot.Tick{Value: value / unit, Label: tickLabel(value)})
			}
		}
	}
	return ticks
}

// timeUnit is the unit of an axis of times up to max milliseconds, and how many
// of it a millisecond has.
func timeUnit(max float64) (name string, perMS float64) {
	if max < microseconds {
		return "µs", 1000
	}
	return "ms", 1
}

// tickLabel writes a round number without the dust of floating point.
func tickLabel(x float64) string {
	if x == 0 {
		return "0"
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}
