package family

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"autotune/internal/lists"
	"autotune/space/expr"
)

// Node is a part of a decision tree: either a condition with a subtree for each outcome, or a leaf.
type Node struct {
	If   string `json:"if,omitempty"` // over the free dimensions, as "n*h*w <= 4096"; "": this is a leaf
	Then *Node  `json:"then,omitempty"`
	Else *Node  `json:"else,omitempty"`
	// A program uses the first kernel in Entries that serves the shape, or the general kernel if no kernel does.
	Entries []int `json:"entries,omitzero"`
}

func (n *Node) Leaf(values map[string]expr.Value) (*Node, error) {
	if n.If == "" {
		return n, nil
	}
	e, err := expr.Parse(n.If)
	if err != nil {
		return nil, err
	}
	switch v, err := e.Eval(values); {
	case err != nil:
		return nil, err
	case v.Truth():
		return n.Then.Leaf(values)
	}
	return n.Else.Leaf(values)
}

// grower grows a decision tree for the samples. A group contains the entries that were compiled from one configuration;
// at most one entry of a group serves a given shape. Each row of a grower's tables has a column for each group, and a
// last column for the general kernel.
type grower struct {
	groups   [][]int
	slow     slowdowns   // slowdowns of the groups and then of the general kernel, for each sample
	order    []int       // groups that are faster on average than the general kernel, the best first
	losses   [][]float64 // loss for each sample and group; if the group does not serve it, of the next in order
	features []feature
}

// feature is a dimension or a product of dimensions, with its value at each sample.
type feature struct {
	text   string
	values []int64
}

// loss rates a slowdown. A large slowdown has a greater loss than its logarithm, because users notice the worst
// slowdown most.
func loss(slowdown float64) float64 {
	x := math.Log(min(slowdown, policy.unserved))
	return x + 3*x*x
}

// newGrower returns a grower for the samples. The arguments of newGrower are the names of the dynamic dimensions,
// the samples, the slowdowns of all entries followed by that of the general kernel, and the groups of entries.
func newGrower(names []string, shapes [][]int64, slow slowdowns, groups [][]int) *grower {
	g, general := &grower{groups: groups, features: featuresOf(names, shapes)}, len(groups)
	for i, row := range slow {
		best := lists.Of(groups, func(group []int) float64 { return slow.best(i, group) })
		g.slow = append(g.slow, append(best, row[len(row)-1]))
	}
	means := make([]float64, len(groups))
	for e := range groups {
		sum, others, n := 0.0, 0.0, 0.0
		for _, row := range g.slow {
			if !math.IsInf(row[e], 1) {
				sum, others, n = sum+loss(row[e]), others+loss(row[general]), n+1
			}
		}
		if means[e] = sum / n; n > 0 && sum <= others {
			g.order = append(g.order, e)
		}
	}
	slices.SortStableFunc(g.order, func(a, b int) int { return cmp.Compare(means[a], means[b]) })
	for _, row := range g.slow {
		other := row[general]
		if e, ok := lists.First(g.order, func(e int) bool { return !math.IsInf(row[e], 1) }); ok {
			other = row[e]
		}
		g.losses = append(g.losses, lists.Of(row, func(x float64) float64 {
			if math.IsInf(x, 1) {
				x = other
			}
			return loss(x)
		}))
	}
	return g
}

// featuresOf returns the quantities that the tree's conditions may compare: each dimension, each product of two or
// three dimensions, and the product of all dimensions.
func featuresOf(names []string, shapes [][]int64) (all []feature) {
	for subset := 1; subset < 1<<len(names); subset++ {
		var of []string
		values := slices.Repeat([]int64{1}, len(shapes))
		for at, name := range names {
			if subset>>at&1 == 0 {
				continue
			}
			of = append(of, name)
			for i, shape := range shapes {
				if values[i] > math.MaxInt64/shape[at] { // the largest int64 replaces a product that overflows
					values[i] = math.MaxInt64
				} else {
					values[i] *= shape[at]
				}
			}
		}
		if len(of) <= 3 || len(of) == len(names) {
			all = append(all, feature{strings.Join(of, "*"), values})
		}
	}
	slices.SortStableFunc(all, func(a, b feature) int { return strings.Count(a.text, "*") - strings.Count(b.text, "*") })
	return all
}

// between returns a limit that is at least low and less than high: the multiple of the largest possible power of
// two, because tiles of kernels end at such multiples. If several multiples of that power of two lie between low
// and high, the function returns the one nearest to the geometric mean of low and high.
func between(low, high int64) int64 {
	for step := int64(1) << 62; ; step /= 2 {
		first := (low + step - 1) / step * step
		if low > math.MaxInt64-step || first >= high {
			continue
		}
		middle := int64(math.Sqrt(float64(low))*math.Sqrt(float64(high))) / step * step
		return min(max(middle, first), (high-1)/step*step)
	}
}

func (g *grower) tree(price float64) *Node {
	node, _ := g.grow(lists.Places(len(g.losses)), policy.mostDepth, price*float64(len(g.losses)))
	return node
}

// grow returns a tree for the shapes and its loss. grow divides the shapes recursively by the condition that leaves
// the least loss, as long as a division lowers the loss by more than `price`, the cost of an additional leaf.
func (g *grower) grow(shapes []int, depth int, price float64) (node *Node, sum float64) {
	leaf, alone := g.leaf(shapes)
	alone += price
	if depth == 0 {
		return leaf, alone
	}
	if text, low, high := g.divide(shapes); text != "" {
		then, one := g.grow(low, depth-1, price)
		other, two := g.grow(high, depth-1, price)
		if one+two < alone-1e-12 {
			return &Node{If: text, Then: then, Else: other}, one + two
		}
	}
	return leaf, alone
}

// divide returns the condition that splits the shapes with the least loss, assuming that one group serves all shapes on
// each side. Of several conditions with equal loss, divide returns the one with the fewest dimensions.
func (g *grower) divide(shapes []int) (text string, low, high []int) {
	least, limit, by := math.Inf(1), int64(0), -1
	for f, feature := range g.features {
		sorted := slices.Clone(shapes)
		slices.SortStableFunc(sorted, func(a, b int) int { return cmp.Compare(feature.values[a], feature.values[b]) })
		below, above := g.sums(nil), g.sums(sorted)
		for at, i := range sorted[:len(sorted)-1] {
			floats.Add(below, g.losses[i])
			floats.Sub(above, g.losses[i])
			here, next := feature.values[i], feature.values[sorted[at+1]]
			if sum := slices.Min(below) + slices.Min(above); here != next && sum < least-1e-9 {
				least, limit, by = sum, between(here, next), f
			}
		}
	}
	if by < 0 {
		return "", nil, nil
	}
	isLow := func(i int) bool { return g.features[by].values[i] <= limit }
	low, high = lists.Where(shapes, isLow), slices.DeleteFunc(slices.Clone(shapes), isLow)
	return fmt.Sprintf("%s <= %d", g.features[by].text, limit), low, high
}

// leaf returns a leaf for the samples: first the entries of the samples' best group, then the entries of other groups
// for samples that the best group does not serve. A leaf without entries stands for the general kernel.
func (g *grower) leaf(samples []int) (leaf *Node, sum float64) {
	sums, general := g.sums(samples), len(g.groups)
	leaf, sum = &Node{Entries: []int{}}, slices.Min(sums)
	if sums[general] <= sum {
		return leaf, sum
	}
	best := slices.Index(sums, sum)
	if left := lists.Where(samples, func(i int) bool { return math.IsInf(g.slow[i][best], 1) }); len(left) > 0 {
		sums = g.sums(left)
	}
	others := lists.Where(g.order, func(e int) bool { return e != best && sums[e] <= sums[general] })
	slices.SortStableFunc(others, func(a, b int) int { return cmp.Compare(sums[a], sums[b]) })
	for _, e := range append([]int{best}, others...) {
		leaf.Entries = append(leaf.Entries, g.groups[e]...)
	}
	return leaf, sum
}

func (g *grower) sums(samples []int) []float64 {
	sums := make([]float64, len(g.groups)+1)
	for _, i := range samples {
		floats.Add(sums, g.losses[i])
	}
	return sums
}
