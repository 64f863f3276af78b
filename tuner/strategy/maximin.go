package strategy

// maximin draws n configurations that lie far from each other: of a few random
// ones, each is the one whose nearest predecessor is farthest away.
func maximin(a *archive, n int) []int64 {
	const choices = 12
	var ids []int64
	var rows [][]float64
	for range min(int64(n), a.space.Len()) {
		var id int64
		var row []float64
		farthest := -1.0
		for _, candidate := range a.space.Sample(a.rng, choices) {
			x := a.space.Features(candidate, nil)
			nearest := 1e9
			for _, other := range rows {
				nearest = min(nearest, squaredDistance(x, other))
			}
			if nearest > farthest {
				farthest, id, row = nearest, candidate, x
			}
		}
		ids, rows = append(ids, id), append(rows, row)
	}
	return ids
}

func squaredDistance(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += (a[i] - b[i]) * (a[i] - b[i])
	}
	return sum
}
