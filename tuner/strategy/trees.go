package strategy

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// trees is an ensemble of extremely randomised regression trees: each split is
// the best of a few random ones, so that trees differ and are quick to build.
// They learn the loss of configurations and which of them fail.
type trees []*node

// node is a split, or a leaf if nothing is below it.
type node struct {
	split
	left, right    *node
	mean, variance float64 // of the loss of those that came here and work
	failing        float64 // share of those that came here
}

// split sends a configuration to the left or to the right.
type split struct {
	feature int
	equal   bool // left if equal to at, else left if less
	at      float64
}

// example is an outcome that trees learn from.
type example struct {
	features []float64
	loss     float64 // meaningless for a failure
	failed   bool
	target   float64 // the value that splits separate
}

const (
	treeCount = 16
	leafSize  = 3 // a node of fewer is not split
)

// growTrees fits so many trees to the examples.
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
	if len(rows) < leafSize {
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
	var ok, sum, squares, failed float64
	for _, e := range rows {
		if e.failed {
			failed++
			continue
		}
		ok, sum, squares = ok+1, sum+e.loss, squares+e.loss*e.loss
	}
	n := &node{failing: failed / max(ok+failed, 1)}
	if ok == 0 { // nothing here works: the loss that splits assumed must do
		n.mean = rows[len(rows)-1].target
		return n
	}
	n.mean = sum / ok
	n.variance = max(0, squares/ok-n.mean*n.mean)
	return n
}

// randomSplit cuts a feature somewhere between its least and its greatest value.
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

// gain is by how much a split lowers the sum of squares.
func (s split) gain(rows []example) float64 {
	var n, sum [2]float64
	for _, e := range rows {
		side := 1
		if s.goesLeft(e.features) {
			side = 0
		}
		n[side]++
		sum[side] += e.target
	}
	if n[0] == 0 || n[1] == 0 {
		return 0
	}
	apart := sum[0]/n[0] - sum[1]/n[1]
	return apart * apart * n[0] * n[1] / (n[0] + n[1])
}

// partition puts those that go left first, and returns how many they are.
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

// targetLoss makes splits separate losses; a failure counts as the worst of those
// that work.
func targetLoss(examples []example) {
	worst := math.Inf(-1)
	for _, l := range examples {
		if !l.failed {
			worst = max(worst, l.loss)
		}
	}
	for i := range examples {
		examples[i].target = examples[i].loss
		if examples[i].failed {
			examples[i].target = worst
		}
	}
}

// targetFailure makes splits separate what fails from what works.
func targetFailure(examples []example) {
	for i := range examples {
		if examples[i].failed {
			examples[i].target = 1
		}
	}
}

// belief is what a model expects of a configuration.
type belief struct {
	mean, deviation float64 // of the loss, if it works
	works           float64 // probability
}

func (t trees) predict(features []float64) belief {
	var sum, squares, within, failing float64
	for _, n := range t {
		for n.left != nil {
			if n.goesLeft(features) {
				n = n.left
			} else {
				n = n.right
			}
		}
		sum += n.mean
		squares += n.mean * n.mean
		within += n.variance
		failing += n.failing
	}
	count := float64(len(t))
	mean := sum / count
	variance := max(0, squares/count-mean*mean) + within/count
	return belief{mean, math.Sqrt(variance), 1 - failing/count}
}

// expectedImprovement is by how much a configuration is expected to be better than
// the best loss so far, times the probability that it works.
func expectedImprovement(b belief, best float64) float64 {
	if b.deviation < 1e-12 {
		return b.works * max(0, best-b.mean)
	}
	z := (best - b.mean) / b.deviation
	return b.works * b.deviation * (z*distuv.UnitNormal.CDF(z) + distuv.UnitNormal.Prob(z))
}
