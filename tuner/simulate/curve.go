package simulate

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/interp"
	"gonum.org/v1/gonum/stat"

	"autotune/device/trial"
)

// pooled are the samples of all repeats in order of time.
type pooled struct {
	samples []owned
	repeats int
}

// owned is a sample with the repeat that it is of.
type owned struct {
	sample
	repeat int32
}

func pool(runs [][]sample) pooled {
	p := pooled{repeats: len(runs)}
	for r, run := range runs {
		for _, s := range run {
			p.samples = append(p.samples, owned{s, int32(r)})
		}
	}
	slices.SortStableFunc(p.samples, func(a, b owned) int { return cmp.Compare(a.ms, b.ms) })
	return p
}

// curve is the performance of a strategy at the game's times, 0 for random
// search and 1 for the optimum, with each repeat weighed.
func (g *game) curve(p pooled, weights []float64) []float64 {
	steps := make([]step, 0, len(p.samples))
	for _, s := range p.samples {
		if w := weights[s.repeat]; w > 0 {
			steps = append(steps, step{s.ms, -float64(s.rank), w}) // better is higher
		}
	}
	performance := make([]float64, len(g.times))
	if len(steps) == 0 { // nothing found: as good as the worst
		steps = []step{{0, -float64(len(g.valid) - 1), 1}}
	}
	ranks := nonDecreasing(steps)
	for i, ms := range g.times {
		performance[i] = relative(g.valueAt(-ranks.Predict(ms)), g.baseline[i], g.valid[0])
	}
	return performance
}

// relative places a value between the baseline's, 0, and the best, 1.
func relative(value, base, best float64) float64 {
	if base <= best { // random search has found the best: there is no scale for how far behind it a value is
		if value <= best {
			return 1
		}
		return 0
	}
	return (base - value) / (base - best)
}

// valueAt is the value of a rank between two.
func (g *game) valueAt(rank float64) float64 {
	low := int(math.Floor(rank))
	if low >= len(g.valid)-1 {
		return g.valid[len(g.valid)-1]
	}
	share := rank - float64(low)
	return g.valid[low]*(1-share) + g.valid[low+1]*share
}

// resamples is how often repeats are drawn again, to see how much a score depends on them.
const resamples = 200

// bootstrap returns the scores of resamples of the repeats, unless the context ends.
func (g *game) bootstrap(ctx context.Context, p pooled, rng *rand.Rand) ([]float64, error) {
	scores := make([]float64, resamples)
	weights := make([]float64, p.repeats)
	for i := range scores {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		clear(weights)
		for range p.repeats {
			weights[rng.IntN(p.repeats)]++
		}
		scores[i] = stat.Mean(g.curve(p, weights), nil)
	}
	return scores, nil
}

// Interval is a confidence interval: its low and its high end.
type Interval [2]float64

// interval95 is where the middle 95 % of the scores are.
func interval95(scores []float64) Interval {
	s := slices.Sorted(slices.Values(scores))
	return Interval{trial.Quantile(s, 0.025), trial.Quantile(s, 0.975)}
}

// step is a point of a sum: a place, a height and how much it weighs.
type step struct{ x, y, weight float64 }

// nonDecreasing is the isotonic regression of points in order of x, by pooling
// adjacent violators: the function that never falls and is closest to them.
// It is straight between the x of the points, and level beyond them; points of no
// weight do not count.
func nonDecreasing(points []step) interp.Predictor {
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
	var x, y []float64
	from := 0
	for _, b := range blocks {
		// The ends of a block are all that interpolation between them needs.
		x, y = append(x, places[from]), append(y, b.y)
		if b.end-1 > from {
			x, y = append(x, places[b.end-1]), append(y, b.y)
		}
		from = b.end
	}
	return fitted(new(interp.PiecewiseLinear), x, y)
}
