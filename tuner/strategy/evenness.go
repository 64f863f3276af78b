package strategy

import (
	"cmp"
	"math/bits"
	"slices"

	"autotune/space"
	"autotune/space/expr"
)

// evenness is how many times a number can be halved. Hardware works in powers of
// two: 64 and 128 threads may be fast where 80 and 112 are slow. A model that
// sees only the order of values takes that for noise. So it gets one more column
// for each tunable of which a larger value is not always the more even one.
type evenness struct {
	space   *space.Space
	columns int
	column  map[string]int // by tunable
	most    []float64      // halvings, by column
	parts   []space.Part
}

// evenWeight is the place of the most even value. It is less than 1, for a
// column that adds to a tunable's own should not weigh as much from the start.
const evenWeight = 0.5

func newEvenness(s *space.Space) evenness {
	e := evenness{space: s, column: map[string]int{}, parts: s.Parts()}
	for _, p := range e.parts {
		for _, t := range p.Tunables {
			e.consider(t)
		}
	}
	return e
}

// consider adds a column for a tunable if it needs one.
func (e *evenness) consider(t space.Tunable) {
	numbers := positives(t.Values)
	slices.Sort(numbers)
	at, has := e.column[t.Name]
	if !has {
		if slices.IsSortedFunc(numbers, func(a, b int64) int { return cmp.Compare(halvings(a), halvings(b)) }) {
			return
		}
		at = e.columns
		e.column[t.Name] = at
		e.columns++
		e.most = append(e.most, 0)
	}
	for _, n := range numbers {
		e.most[at] = max(e.most[at], halvings(n))
	}
}

// append adds a configuration's columns to its row.
func (e *evenness) append(row []float64, id int64) []float64 {
	if e.columns == 0 {
		return row
	}
	first := len(row)
	for range e.columns {
		row = append(row, evenWeight/2) // a template without this tunable
	}
	part := e.space.PartOf(id)
	for k, v := range e.space.Choice(id, nil) {
		t := e.parts[part].Tunables[k]
		if at, has := e.column[t.Name]; has {
			if n, ok := t.Values[v].AsInt(); ok && n > 0 {
				row[first+at] = evenWeight * halvings(n) / e.most[at]
			}
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

func halvings(n int64) float64 { return float64(bits.TrailingZeros64(uint64(n))) }
