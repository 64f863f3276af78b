package strategy

// featureCache keeps the numeric view of configurations that are looked at often.
type featureCache struct {
	*archive
	categorical []bool
	rows        map[int64][]float64
}

func newFeatureCache(a *archive) *featureCache {
	c := &featureCache{archive: a, rows: map[int64][]float64{}}
	for _, d := range a.space.Dims() {
		c.categorical = append(c.categorical, d.Categorical)
	}
	return c
}

func (c *featureCache) features(id int64) []float64 {
	row, ok := c.rows[id]
	if !ok {
		row = c.space.Features(id, make([]float64, 0, len(c.categorical)))
		c.rows[id] = row
	}
	return row
}
