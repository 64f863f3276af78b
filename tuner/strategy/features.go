package strategy

import (
	"math/bits"
	"slices"

	"autotune/internal/lists"
	"autotune/space"
	"autotune/space/expr"
)

// featureCache stores the features of configurations, which are needed often: the numbers that the space defines,
// and the exponents of two in the values of tunables.
type featureCache struct {
	*archive
	categorical []bool
	powers      powersOfTwo
	rows        map[int64][]float64
}

func newFeatureCache(a *archive) *featureCache {
	c := &featureCache{archive: a, powers: newPowersOfTwo(a.space.Parts()), rows: map[int64][]float64{}}
	for _, d := range a.space.Dims() {
		c.categorical = append(c.categorical, d.Categorical)
	}
	for range c.powers.largest {
		c.categorical = append(c.categorical, false)
	}
	return c
}

func (c *featureCache) features(id int64) []float64 {
	row, ok := c.rows[id]
	if !ok {
		row = c.space.Features(id, make([]float64, 0, len(c.categorical)))
		row = c.powers.append(row, c.space.Parts()[c.space.PartOf(id)].Tunables, c.space.Choice(id))
		c.rows[id] = row
	}
	return row
}

func (c *featureCache) examples(ids []int64) []example {
	examples := make([]example, len(ids))
	for i, id := range ids {
		examples[i] = example{features: c.features(id), failed: !c.known[id].OK}
	}
	return examples
}

// powersOfTwo holds additional features for the models: the exponent of two in the value of a tunable. Hardware works
// in powers of two: 64 and 128 threads may be fast where 80 and 112 are slow. A model that knows only the order of a
// tunable's values would take the difference between powers of two and other values for noise. A tunable gets a column
// for the exponents of two in its values unless the exponents ascend with the values, as for 1, 2, 4, 8.
type powersOfTwo struct {
	column  map[string]int // column of each tunable
	largest []float64      // largest exponent of each column
}

func newPowersOfTwo(parts []space.Part) powersOfTwo {
	p := powersOfTwo{column: map[string]int{}}
	for _, part := range parts {
		for _, t := range part.Tunables {
			p.consider(t)
		}
	}
	return p
}

func (p *powersOfTwo) consider(t space.Tunable) {
	exponents := lists.Of(slices.Sorted(slices.Values(positives(t.Values))), exponentOfTwo)
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

func (p *powersOfTwo) append(row []float64, tunables []space.Tunable, choice []int) []float64 {
	first := len(row)
	for range p.largest {
		row = append(row, policy.power/2) // feature of a template without the tunable
	}
	for k, t := range tunables {
		at, has := p.column[t.Name]
		if n, ok := t.Values[choice[k]].AsInt(); has && ok && n > 0 {
			row[first+at] = policy.power * exponentOfTwo(n) / p.largest[at]
		}
	}
	return row
}

// positives returns a tunable's values as numbers, or nil if one of the values is not a positive integer.
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

func exponentOfTwo(n int64) float64 { return float64(bits.TrailingZeros64(uint64(n))) }
