package simulate

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"autotune/tuner/trial"
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
	best := g.valid[0]
	for i, rank := range interpolate(nonDecreasing(steps), g.times) {
		performance[i] = relative(g.valueAt(-rank), g.baseline[i], best)
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

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// resamples is how often repeats are drawn again to see how much a score
// depends on which there were.
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
		scores[i] = mean(g.curve(p, weights))
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
