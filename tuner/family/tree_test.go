package family

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"autotune/internal/lists"
	"autotune/space/expr"
)

// drawn is a garden of random samples.
func drawn(r *rand.Rand, samples, entries int) *garden {
	var shapes [][]int64
	var slow slowdowns
	var general []float64
	for range samples {
		shapes = append(shapes, []int64{1 + r.Int64N(8), 1 + r.Int64N(100)})
		row := make([]float64, entries)
		for e := range row {
			if row[e] = 1 + r.Float64()*r.Float64(); r.IntN(5) == 0 {
				row[e] = math.Inf(1)
			}
		}
		slow, general = append(slow, row), append(general, 1+2*r.Float64())
	}
	return newGarden([]string{"n", "h"}, shapes, slow, general, single(entries))
}

// single are groups of one entry each.
func single(entries int) [][]int {
	return lists.Of(lists.Places(entries), func(e int) []int { return []int{e} })
}

// outcome is how a tree does on the garden's samples.
func (g *garden) outcome(t *testing.T, n *Node) (worst, sum float64) {
	t.Helper()
	leaves := 0
	n.Walk(func(*Node, string) { leaves++ })
	for i, shape := range g.shapes {
		leaf, err := n.Leaf(map[string]expr.Value{"n": expr.Int(shape[0]), "h": expr.Int(shape[1])})
		if err != nil {
			t.Fatal(err)
		}
		x := g.general[i]
		for _, e := range leaf.Entries {
			if g.slow[i][e] < unserved {
				x = g.slow[i][e]
				break
			}
		}
		worst, sum = max(worst, x), sum+math.Log(x)
	}
	return worst, sum + float64(leaves)*leafPrice*float64(len(g.shapes))
}

// everyTree are all trees of a depth, with all orders of entries in their leaves.
func everyTree(g *garden, mask uint64, depth int) (all []*Node) {
	var orders func(head []int)
	orders = func(head []int) {
		all = append(all, &Node{Entries: slices.Clone(head)})
		for e := range g.slow[0] {
			if !slices.Contains(head, e) {
				orders(append(slices.Clone(head), e))
			}
		}
	}
	orders(nil)
	// A leaf that takes longer than the general kernel is none.
	all = slices.DeleteFunc(all, func(n *Node) bool {
		sum, general := 0.0, 0.0
		for i := range g.samples(mask) {
			general += math.Log(g.general[i])
			x := g.general[i]
			for _, e := range n.Entries {
				if g.slow[i][e] < unserved {
					x = g.slow[i][e]
					break
				}
			}
			sum += math.Log(x)
		}
		return len(n.Entries) > 0 && sum > general+1e-12
	})
	if depth == 0 {
		return all
	}
	for _, s := range g.splits {
		if mask&s.mask == 0 || mask&^s.mask == 0 {
			continue
		}
		for _, then := range everyTree(g, mask&s.mask, depth-1) {
			for _, other := range everyTree(g, mask&^s.mask, depth-1) {
				all = append(all, &Node{If: s.text, Then: then, Else: other})
			}
		}
	}
	return all
}

// The tree is as good as the best of all trees that are not deeper.
func TestTreeIsBest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		g := drawn(r, 2+r.IntN(4), 1+r.IntN(2))
		const easy = 1.05
		tree, limit := g.plant(easy)
		depth := tree.depth()
		if depth > 1 { // there are too many to try
			continue
		}
		worst, sum := g.outcome(t, tree)
		least, best := math.Inf(1), math.Inf(1)
		for _, other := range everyTree(g, g.everyone(), depth) {
			w, _ := g.outcome(t, other)
			least = min(least, max(w, easy))
		}
		for _, other := range everyTree(g, g.everyone(), depth) {
			if w, s := g.outcome(t, other); w <= least {
				best = min(best, s)
			}
		}
		if max(worst, easy) > least+1e-12 || limit > least || sum > best+1e-9 {
			t.Errorf("worst %v of %v, sum %v of %v: %s", worst, least, sum, best, text(t, tree))
		}
	}
}

func text(t *testing.T, n *Node) string {
	t.Helper()
	data, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// No leaf takes longer than the general kernel, and more samples never go beyond the limit that
// is told.
func TestTreeKeepsItsLimit(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 30 {
		g := drawn(r, 4+r.IntN(16), 1+r.IntN(4))
		tree, limit := g.plant(1.05)
		if worst, _ := g.outcome(t, tree); worst > limit {
			t.Errorf("%v is beyond %v", worst, limit)
		}
		tree.Walk(func(leaf *Node, where string) {
			sum := 0.0
			for i, shape := range g.shapes {
				got, err := tree.Leaf(map[string]expr.Value{"n": expr.Int(shape[0]), "h": expr.Int(shape[1])})
				if err != nil {
					t.Fatal(err)
				}
				if got != leaf {
					continue
				}
				for _, e := range leaf.Entries {
					if g.slow[i][e] < unserved {
						sum += math.Log(g.slow[i][e] / g.general[i])
						break
					}
				}
			}
			if sum > 1e-9 {
				t.Errorf("the leaf %s, %v, takes %.3f of the general kernel", where, leaf.Entries, math.Exp(sum))
			}
		})
	}
}

// Many entries that serve a few samples each, as kernels for eight rows each do, are put in order at once.
func TestTreeOfManyEntries(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	const kinds = 8
	var shapes [][]int64
	var slow slowdowns
	var general []float64
	for i := range 5 * kinds {
		row := make([]float64, 4*kinds)
		for e := range row {
			if row[e] = 1 + r.Float64(); e%kinds != i%kinds {
				row[e] = math.Inf(1)
			} else if e < kinds {
				row[e] = 1
			}
		}
		shapes, slow, general = append(shapes, []int64{int64(1 + 8*(i%kinds)), 1 + r.Int64N(1000)}), append(slow, row), append(general, 3)
	}
	g := newGarden([]string{"m", "n"}, shapes, slow, general, single(4*kinds))
	tree, limit := g.plant(1.05)
	if limit > 1.05 || tree.If != "" || len(tree.Entries) != 4*kinds {
		t.Errorf("within %v, %s", limit, text(t, tree))
	}
}

func TestTreeAsJSON(t *testing.T) {
	tree := &Node{If: "n*h <= 64", Then: &Node{Entries: []int{1, 0}}, Else: &Node{}}
	const want = `{"if":"n*h \u003c= 64","then":{"entries":[1,0]},"else":{"entries":[]}}`
	if got := text(t, tree); got != want {
		t.Error(got)
	}
	var back Node
	if err := json.Unmarshal([]byte(want), &back); err != nil || text(t, &back) != want {
		t.Error(err, text(t, &back))
	}
	var leaves []string
	back.Walk(func(leaf *Node, where string) { leaves = append(leaves, fmt.Sprint(where, leaf.Entries)) })
	if fmt.Sprint(leaves) != "[n*h <= 64[1 0] n*h > 64[]]" {
		t.Error(leaves)
	}
}

// The greedy set keeps to the limits, has no member too many, and is hardly larger than the
// smallest.
func TestCover(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	larger := 0
	for range 300 {
		g := drawn(r, 1+r.IntN(8), 1+r.IntN(8))
		limits := g.slow.limits(1.1)
		chosen := g.slow.cover(limits)
		if !g.slow.covers(chosen, limits) {
			t.Fatalf("%v does not cover", chosen)
		}
		for i := range chosen {
			if g.slow.covers(slices.Delete(slices.Clone(chosen), i, i+1), limits) {
				t.Errorf("%v without number %d covers, too", chosen, i)
			}
		}
		smallest := len(chosen)
		for subset := range 1 << len(g.slow[0]) {
			var members []int
			for v := range g.slow[0] {
				if subset>>v&1 == 1 {
					members = append(members, v)
				}
			}
			if g.slow.covers(members, limits) {
				smallest = min(smallest, len(members))
			}
		}
		if len(chosen) > smallest+1 {
			t.Errorf("%d members for %d", len(chosen), smallest)
		} else if len(chosen) > smallest {
			larger++
		}
	}
	if larger > 30 {
		t.Errorf("%d of 300 sets are larger than they need be", larger)
	}
}

// Entries beyond the limits' each lower the mean by their price, and no other would.
func TestExtend(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 200 {
		g := drawn(r, 1+r.IntN(8), 1+r.IntN(8))
		chosen := g.slow.cover(g.slow.limits(1.1))
		_, before := g.slow.total(chosen)
		more := g.slow.extend(slices.Clone(chosen))
		_, after := g.slow.total(more)
		price := entryPrice * float64(len(g.slow))
		if after > before-price*float64(len(more)-len(chosen))+1e-9 || !slices.IsSorted(more) {
			t.Fatalf("%v %v became %v %v", chosen, before, more, after)
		}
		for _, v := range chosen {
			if !slices.Contains(more, v) {
				t.Errorf("%d is gone", v)
			}
		}
		for v := range g.slow[0] {
			if _, sum := g.slow.total(append(slices.Clone(more), v)); sum < after-price-1e-9 {
				t.Errorf("%d is worth an entry", v)
			}
		}
	}
}

// Where a shape is no sample, those chosen do not leave it to a variant that others are faster than, as the nearest
// samples tell. A variant of the same configuration tells, too.
func TestReach(t *testing.T) {
	inf := math.Inf(1)
	slow := slowdowns{{1, 1.5, inf, inf, 1.4}, {1, 1.4, inf, inf, 1.3}, {inf, 1.2, 1, inf, 1.25}, {inf, 1, 2, inf, 2}}
	groups := [][]int{{0, 2, 3}, {1}, {4}}
	few, many := []int{0, 1, 2, 3}, []int{3, 2, 1, 0}
	for _, c := range []struct {
		spots []spot
		want  []int
	}{
		{nil, []int{0, 1}},
		{[]spot{{[]int{1}, few}, {nil, few}}, []int{0, 1}},
		{[]spot{{[]int{1, 3}, few}}, []int{0, 1, 3}},
		{[]spot{{[]int{1, 3}, many}}, []int{0, 1}},        // 1.095 is told of one, 1.414 of the other
		{[]spot{{[]int{1, 4}, few}}, []int{0, 1}},         // hardly faster
		{[]spot{{[]int{3, 4}, many[2:]}}, []int{0, 1, 3}}, // none of those chosen serves it
	} {
		if got := slow.reach([]int{0, 1}, c.spots, groups); !slices.Equal(got, c.want) {
			t.Errorf("of %v: %v, want %v", c.spots, got, c.want)
		}
	}
}
