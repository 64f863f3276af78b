package strategy

// featureCache keeps the numeric view of configurations that are looked at often:
// the space's, and how even numbers are.
type featureCache struct {
	*archive
	categorical []bool
	evenness    evenness
	rows        map[int64][]float64
}

func newFeatureCache(a *archive) *featureCache {
	c := &featureCache{archive: a, evenness: newEvenness(a.space), rows: map[int64][]float64{}}
	for _, d := range a.space.Dims() {
		c.categorical = append(c.categorical, d.Categorical)
	}
	for range c.evenness.columns {
		c.categorical = append(c.categorical, false)
	}
	return c
}

func (c *featureCache) features(id int64) []float64 {
	row, ok := c.rows[id]
	if !ok {
		row = c.evenness.append(c.space.Features(id, make([]float64, 0, len(c.categorical))), id)
		c.rows[id] = row
	}
	return row
}
