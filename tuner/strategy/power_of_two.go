package strategy

import (
	"math/bits"
	"slices"

	"autotune/space"
	"autotune/space/expr"
)

// powersOfTwo are further columns for the models: the exponent of two in a tunable's
// value. Hardware works in powers of two: 64 and 128 threads may be fast where 80 and
// 112 are slow. A model that sees only the order of values takes that for noise. A
// tunable gets a column unless its exponents ascend with its values anyway, as in 1,
// 2, 4, 8.
type powersOfTwo struct {
	column  map[string]int // by tunable
	largest []float64      // exponent, by column
}

// powerWeight is the feature of the largest exponent. It is less than 1 because a
// column beside a tunable's own should weigh less at the start.
const powerWeight = 0.5

func newPowersOfTwo(parts []space.Part) powersOfTwo {
	p := powersOfTwo{column: map[string]int{}}
	for _, part := range parts {
		for _, t := range part.Tunables {
			p.consider(t)
		}
	}
	return p
}

// consider adds a column for a tunable that needs one.
func (p *powersOfTwo) consider(t space.Tunable) {
	var exponents []float64
	for _, n := range slices.Sorted(slices.Values(positives(t.Values))) {
		exponents = append(exponents, exponentOfTwo(n))
	}
	at, has := p.column[t.Name]
	if !has {
		if slices.IsSorted(exponents) {
			return
		}
		at = len(p.largest)
		p.column[t.Name] = at
		p.largest = append(p.largest, 0)
	}
	for _, e := range exponents {
		p.largest[at] = max(p.largest[at], e)
	}
}

// append adds the columns to the row of a configuration with this choice.
func (p *powersOfTwo) append(row []float64, tunables []space.Tunable, choice []int) []float64 {
	first := len(row)
	for range p.largest {
		row = append(row, powerWeight/2) // a template without this tunable
	}
	for k, t := range tunables {
		at, has := p.column[t.Name]
		if n, ok := t.Values[choice[k]].AsInt(); has && ok && n > 0 {
			row[first+at] = powerWeight * exponentOfTwo(n) / p.largest[at]
		}
	}
	return row
}

// positives are the values as numbers; none unless all are whole and above 0.
func positives(values []expr.Value) []int64 {
	var numbers []int64
	for _, v := range values {
		n, ok := v.AsInt()
		if !ok || n <= 0 {
			return nil
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// exponentOfTwo is how many times a number can be halved.
func exponentOfTwo(n int64) float64 { return float64(bits.TrailingZeros64(uint64(n))) }
