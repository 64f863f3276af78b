package strategy

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// trees is an ensemble of extremely randomised trees: each split is the best of a few random splits, so that trees
// differ and are quick to build. The trees predict which configurations fail.
//
// The method is described in "Extremely randomized trees" by Geurts, Ernst and Wehenkel, Machine Learning 63 (2006).
type trees []*node

type node struct {
	split
	left, right *node
	failing     float64 // share of failures among the node's examples
}

type split struct {
	feature int
	equal   bool // if set, left means equal to at, else less than at
	at      float64
}

type example struct {
	features []float64
	failed   bool
}

func growTrees(rng *rand.Rand, categorical []bool, examples []example, count int) trees {
	g := grower{rng, categorical}
	var t trees
	for range count {
		t = append(t, g.grow(slices.Clone(examples)))
	}
	return t
}

type grower struct {
	rng         *rand.Rand
	categorical []bool
}

func (g *grower) grow(rows []example) *node {
	n := leaf(rows)
	if len(rows) < policy.cliffLeaf {
		return n
	}
	most := 0.0
	for f := range g.categorical {
		candidate, ok := g.randomSplit(f, rows)
		if !ok {
			continue
		}
		if gain := candidate.gain(rows); gain > most {
			n.split, most = candidate, gain
		}
	}
	if most > 0 {
		middle := n.partition(rows)
		n.left, n.right = g.grow(rows[:middle]), g.grow(rows[middle:])
	}
	return n
}

func leaf(rows []example) *node {
	failed := 0
	for _, e := range rows {
		if e.failed {
			failed++
		}
	}
	return &node{failing: float64(failed) / float64(max(len(rows), 1))}
}

// randomSplit returns a split of a feature at a random point between its smallest and its largest value.
func (g *grower) randomSplit(f int, rows []example) (split, bool) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, e := range rows {
		low, high = min(low, e.features[f]), max(high, e.features[f])
	}
	if low == high {
		return split{}, false
	}
	if g.categorical[f] {
		return split{feature: f, equal: true, at: rows[g.rng.IntN(len(rows))].features[f]}, true
	}
	return split{feature: f, at: low + (1-g.rng.Float64())*(high-low)}, true
}

func (s split) goesLeft(features []float64) bool {
	x := features[s.feature]
	if s.equal {
		return x == s.at
	}
	return x < s.at
}

func (s split) gain(rows []example) float64 {
	var n, sum [2]float64
	for _, e := range rows {
		side := 1
		if s.goesLeft(e.features) {
			side = 0
		}
		n[side]++
		if e.failed {
			sum[side]++
		}
	}
	if n[0] == 0 || n[1] == 0 {
		return 0
	}
	apart := sum[0]/n[0] - sum[1]/n[1]
	return apart * apart * n[0] * n[1] / (n[0] + n[1])
}

// partition moves the examples that belong to the left side of a split to the front of rows, and returns their number.
func (s split) partition(rows []example) int {
	middle := 0
	for i, e := range rows {
		if s.goesLeft(e.features) {
			rows[i], rows[middle] = rows[middle], rows[i]
			middle++
		}
	}
	return middle
}

type belief struct {
	mean, deviation float64 // mean and deviation of the loss, if the configuration works
	works           float64 // probability that it works
}

func (t trees) works(features []float64) float64 {
	failing := 0.0
	for _, n := range t {
		for n.left != nil {
			if n.goesLeft(features) {
				n = n.left
			} else {
				n = n.right
			}
		}
		failing += n.failing
	}
	return 1 - failing/float64(len(t))
}

// expectedImprovement returns by how much the loss of a configuration is expected to be lower than the best loss, times
// the probability that the configuration works.
func expectedImprovement(b belief, best float64) float64 {
	if b.deviation < 1e-12 {
		return b.works * max(0, best-b.mean)
	}
	z := (best - b.mean) / b.deviation
	return b.works * b.deviation * (z*distuv.UnitNormal.CDF(z) + distuv.UnitNormal.Prob(z))
}
