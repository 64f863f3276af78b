package family

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"autotune/internal/lists"
	"autotune/internal/test/must"
	"autotune/space/expr"
)

// field holds random shapes with the slowdowns of the entries and of the general kernel.
type field struct {
	shapes  [][]int64
	slow    slowdowns
	general []float64
}

func drawn(r *rand.Rand, shapes, entries int) (f field) {
	for range shapes {
		f.shapes = append(f.shapes, []int64{1 + r.Int64N(8), 1 + r.Int64N(100)})
		row := make([]float64, entries)
		for e := range row {
			if row[e] = 1 + r.Float64()*r.Float64(); r.IntN(5) == 0 {
				row[e] = math.Inf(1)
			}
		}
		f.slow, f.general = append(f.slow, row), append(f.general, 1+2*r.Float64())
	}
	return f
}

// grower returns a grower in which each entry is a group of its own.
func (f field) grower() *grower {
	groups := lists.Of(lists.Places(len(f.slow[0])), func(e int) []int { return []int{e} })
	var slow slowdowns
	for i, row := range f.slow {
		slow = append(slow, append(slices.Clip(row), f.general[i]))
	}
	return newGrower([]string{"n", "h"}, f.shapes, slow, groups)
}

// taken returns, for each shape, the slowdown of the kernel that the tree chooses.
func (f field) taken(t *testing.T, n *Node) (all []float64) {
	t.Helper()
	for i, shape := range f.shapes {
		leaf, err := n.Leaf(map[string]expr.Value{"n": expr.Int(shape[0]), "h": expr.Int(shape[1])})
		must.OK(t, err)
		x := f.general[i]
		for _, e := range leaf.Entries {
			if !math.IsInf(f.slow[i][e], 1) {
				x = f.slow[i][e]
				break
			}
		}
		all = append(all, x)
	}
	return all
}

func sumOf(slowdowns []float64) (sum float64) {
	for _, x := range slowdowns {
		sum += loss(x)
	}
	return sum
}

// A tree is at least as good as every single leaf, and as every single condition with the best entry on either side.
// The kernels of a tree's leaf are on average no slower than the general kernel.
func TestTreeIsGood(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		f := drawn(r, 2+r.IntN(40), 1+r.IntN(5))
		for i := range f.slow { // each entry serves all, so the order of a leaf's entries does not matter
			for e, x := range f.slow[i] {
				f.slow[i][e] = min(x, 2)
			}
		}
		g := f.grower()
		_, least := g.leaf(lists.Places(len(g.losses)))
		for _, feature := range g.features {
			for _, limit := range feature.values {
				var sides [2][]int
				for i, v := range feature.values {
					side := 0
					if v > limit {
						side = 1
					}
					sides[side] = append(sides[side], i)
				}
				_, one := g.leaf(sides[0])
				_, two := g.leaf(sides[1])
				least = min(least, one+two)
			}
		}
		if got := sumOf(f.taken(t, g.tree(0))); got > least+1e-9 {
			t.Errorf("the tree has %v, one condition %v", got, least)
		}
		tree := g.tree(policy.leafPrice)
		own, general := map[*Node][]float64{}, map[*Node][]float64{}
		for i, x := range f.taken(t, tree) {
			leaf, err := tree.Leaf(map[string]expr.Value{"n": expr.Int(f.shapes[i][0]), "h": expr.Int(f.shapes[i][1])})
			must.OK(t, err)
			own[leaf], general[leaf] = append(own[leaf], x), append(general[leaf], f.general[i])
		}
		for leaf, all := range own {
			if sumOf(all) > sumOf(general[leaf])+1e-9 {
				t.Errorf("the leaf %v loses %v, the general kernel %v", leaf.Entries, sumOf(all), sumOf(general[leaf]))
			}
		}
	}
}

// A leaf lists further entries for shapes that its first entry does not serve.
func TestLeafServesOthers(t *testing.T) {
	inf := math.Inf(1)
	f := field{
		shapes:  [][]int64{{1, 1}, {1, 2}, {1, 3}},
		slow:    slowdowns{{1, inf, 1.5}, {1, inf, 1.5}, {inf, 1.2, 1.1}},
		general: []float64{4, 4, 4},
	}
	g := f.grower()
	tree := g.tree(1)
	if got := fmt.Sprint(tree.Entries); tree.If != "" || got != "[0 2 1]" {
		t.Error(text(t, tree))
	}
	if got := fmt.Sprint(f.taken(t, tree)); got != "[1 1 1.1]" {
		t.Error(got)
	}
}

// A condition's limit between two values is the roundest number that separates the values.
func TestBetween(t *testing.T) {
	for _, c := range []struct{ low, high, want int64 }{
		{1, 2, 1}, {250, 262, 256}, {300, 330, 320}, {100, 5000, 4096}, {33, 34, 33}, {7, 9, 8}, {math.MaxInt64 - 1, math.MaxInt64, math.MaxInt64 - 1},
	} {
		if got := between(c.low, c.high); got != c.want {
			t.Errorf("between %d and %d: %d, want %d", c.low, c.high, got, c.want)
		}
	}
}

func text(t *testing.T, n *Node) string {
	t.Helper()
	data, err := json.Marshal(n)
	must.OK(t, err)
	return string(data)
}

func TestTreeAsJSON(t *testing.T) {
	tree := &Node{If: "n*h <= 64", Then: &Node{Entries: []int{1, 0}}, Else: &Node{Entries: []int{}}}
	const want = `{"if":"n*h \u003c= 64","then":{"entries":[1,0]},"else":{"entries":[]}}`
	if got := text(t, tree); got != want {
		t.Error(got)
	}
	var back Node
	if err := json.Unmarshal([]byte(want), &back); err != nil || text(t, &back) != want {
		t.Error(err, text(t, &back))
	}
}

// The chosen set of kernels keeps the slowdowns within the limits if that is possible. Every chosen kernel lowers
// the cost by at least its price, and adding any other kernel would not.
func TestEntries(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const most = 1.1
	for range 300 {
		f := drawn(r, 1+r.IntN(8), 1+r.IntN(8))
		all, chosen := lists.Places(len(f.slow[0])), f.slow.entries(most)
		cost, price := f.slow.cost(chosen, most), policy.entryPrice*float64(len(f.slow))
		if cost >= policy.overLimit && f.slow.cost(all, most) < policy.overLimit || !slices.IsSorted(chosen) {
			t.Fatalf("%v does not keep to the limits of %v", chosen, f.slow)
		}
		for i := range chosen {
			if f.slow.cost(slices.Delete(slices.Clone(chosen), i, i+1), most) < cost+price-1e-9 {
				t.Errorf("%v without number %d is as good", chosen, i)
			}
		}
		for k := range f.slow[0] {
			if f.slow.cost(append(slices.Clone(chosen), k), most) < cost-2*price-1e-9 {
				t.Errorf("%d is worth an entry beside %v", k, chosen)
			}
		}
	}
	// A set with a single kernel suffices if that kernel serves all samples and no other kernel is faster.
	if got := (slowdowns{{1, 1, math.Inf(1)}, {math.Inf(1), 1, 1}}).entries(most); !slices.Equal(got, []int{1}) {
		t.Error(got)
	}
}
