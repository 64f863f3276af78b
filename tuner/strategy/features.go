package strategy

// featureCache keeps the features of configurations that are looked at often: those
// of the space, and the exponents of two.
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
		row = c.powers.append(row, c.space.Parts()[c.space.PartOf(id)].Tunables, c.space.Choice(id, nil))
		c.rows[id] = row
	}
	return row
}

// examples are the outcomes of known configurations, for trees to learn from.
func (c *featureCache) examples(ids []int64) []example {
	examples := make([]example, len(ids))
	for i, id := range ids {
		o := c.known[id]
		examples[i] = example{features: c.features(id), loss: loss(o), failed: !o.OK}
	}
	return examples
}
