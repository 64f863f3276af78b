package simulate

// step is a point of a sum: a place, a height and how much it weighs.
type step struct{ x, y, weight float64 }

// nonDecreasing is the isotonic regression of points in order of x, by pooling
// adjacent violators: the function that never falls and is closest to them.
// It is given at the x of the points, equal ones once; points of no weight do
// not count.
func nonDecreasing(points []step) []step {
	// A block is a run of points that share the mean of their heights.
	type block struct {
		y, weight float64
		end       int // in places
	}
	var places []float64
	var blocks []block
	for i := 0; i < len(points); {
		y, weight, x := 0.0, 0.0, points[i].x
		for ; i < len(points) && points[i].x == x; i++ {
			y += points[i].y * points[i].weight
			weight += points[i].weight
		}
		if weight == 0 {
			continue
		}
		places = append(places, x)
		b := block{y / weight, weight, len(places)}
		for len(blocks) > 0 && blocks[len(blocks)-1].y >= b.y {
			last := blocks[len(blocks)-1]
			total := last.weight + b.weight
			b.y = (last.y*last.weight + b.y*b.weight) / total
			b.weight = total
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	fit := make([]step, 0, 2*len(blocks))
	from := 0
	for _, b := range blocks {
		// The ends of a block are all that interpolation between them needs.
		fit = append(fit, step{places[from], b.y, b.weight})
		if b.end-1 > from {
			fit = append(fit, step{places[b.end-1], b.y, b.weight})
		}
		from = b.end
	}
	return fit
}

// interpolate reads a fit at rising places, straight between its points and
// level beyond them.
func interpolate(fit []step, places []float64) []float64 {
	y := make([]float64, len(places))
	k := 0
	for i, x := range places {
		for k < len(fit) && fit[k].x < x {
			k++
		}
		switch {
		case k == 0:
			y[i] = fit[0].y
		case k == len(fit):
			y[i] = fit[k-1].y
		default:
			a, b := fit[k-1], fit[k]
			y[i] = a.y + (b.y-a.y)*(x-a.x)/(b.x-a.x)
		}
	}
	return y
}
