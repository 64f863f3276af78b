package strategy

import (
	"math"
	"math/rand/v2"
)

// trees is an ensemble of extremely randomised regression trees: each split is
// the best of a few random ones, so that trees differ and are quick to build.
// They learn the loss of configurations and which of them fail.
type trees struct {
	categorical []bool
	nodes       []node
	roots       []int32
}

// node is a split, or a leaf if it has no feature.
type node struct {
	feature  int32 // -1: a leaf
	equal    bool  // left if equal to at, else left if less
	at       float64
	left     int32 // right is the next
	mean     float64
	variance float64
	failing  float64 // share of those that came here
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
func growTrees(rng *rand.Rand, dims []bool, examples []example, count int) *trees {
	t := &trees{categorical: dims}
	g := grower{trees: t, rng: rng, examples: examples}
	rows := make([]int32, len(examples))
	for range count {
		for i := range rows {
			rows[i] = int32(i)
		}
		t.nodes = append(t.nodes, node{})
		root := int32(len(t.nodes) - 1)
		t.roots = append(t.roots, root)
		g.grow(root, rows)
	}
	return t
}

type grower struct {
	*trees
	rng      *rand.Rand
	examples []example
}

func (g *grower) grow(at int32, rows []int32) {
	g.nodes[at] = g.leaf(rows)
	if len(rows) < leafSize {
		return
	}
	split, gain := node{}, 0.0
	for f := range g.categorical {
		candidate, ok := g.randomSplit(int32(f), rows)
		if !ok {
			continue
		}
		if now := g.gain(candidate, rows); now > gain {
			split, gain = candidate, now
		}
	}
	if gain <= 0 {
		return
	}
	middle := g.partition(split, rows)
	left := int32(len(g.nodes))
	g.nodes = append(g.nodes, node{}, node{})
	n := &g.nodes[at]
	n.feature, n.equal, n.at, n.left = split.feature, split.equal, split.at, left
	g.grow(left, rows[:middle])
	g.grow(left+1, rows[middle:])
}

func (g *grower) leaf(rows []int32) node {
	var ok, sum, squares, failed float64
	for _, r := range rows {
		if g.examples[r].failed {
			failed++
			continue
		}
		x := g.examples[r].loss
		ok, sum, squares = ok+1, sum+x, squares+x*x
	}
	n := node{feature: -1, failing: failed / max(ok+failed, 1)}
	if ok == 0 { // nothing here works: the loss that splits assumed must do
		n.mean = g.examples[rows[len(rows)-1]].target
		return n
	}
	n.mean = sum / ok
	n.variance = max(0, squares/ok-n.mean*n.mean)
	return n
}

// randomSplit cuts a feature somewhere between its least and its greatest value.
func (g *grower) randomSplit(f int32, rows []int32) (node, bool) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, r := range rows {
		x := g.examples[r].features[f]
		low, high = min(low, x), max(high, x)
	}
	if low == high {
		return node{}, false
	}
	if g.categorical[f] {
		x := g.examples[rows[g.rng.IntN(len(rows))]].features[f]
		return node{feature: f, equal: true, at: x}, true
	}
	return node{feature: f, at: low + (1-g.rng.Float64())*(high-low)}, true
}

func (n *node) goesLeft(features []float64) bool {
	x := features[n.feature]
	if n.equal {
		return x == n.at
	}
	return x < n.at
}

// gain is by how much a split lowers the sum of squares.
func (g *grower) gain(split node, rows []int32) float64 {
	var n, sum [2]float64
	for _, r := range rows {
		side := 1
		if split.goesLeft(g.examples[r].features) {
			side = 0
		}
		n[side]++
		sum[side] += g.examples[r].target
	}
	if n[0] == 0 || n[1] == 0 {
		return 0
	}
	apart := sum[0]/n[0] - sum[1]/n[1]
	return apart * apart * n[0] * n[1] / (n[0] + n[1])
}

func (g *grower) partition(split node, rows []int32) int {
	middle := 0
	for i, r := range rows {
		if split.goesLeft(g.examples[r].features) {
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

func (t *trees) predict(features []float64) belief {
	var sum, squares, within, failing float64
	for _, at := range t.roots {
		n := &t.nodes[at]
		for n.feature >= 0 {
			at = n.left
			if !n.goesLeft(features) {
				at++
			}
			n = &t.nodes[at]
		}
		sum += n.mean
		squares += n.mean * n.mean
		within += n.variance
		failing += n.failing
	}
	count := float64(len(t.roots))
	mean := sum / count
	variance := max(0, squares/count-mean*mean) + within/count
	return belief{mean, math.Sqrt(variance), 1 - failing/count}
}
