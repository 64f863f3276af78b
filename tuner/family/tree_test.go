package family

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"autotune/internal/lists"
	"autotune/internal/test/toy"
	"autotune/space/expr"
)

// field is drawn shapes, with slowdowns of entries and of the general kernel.
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

// grower has the entries in groups of one.
func (f field) grower() *grower {
	groups := lists.Of(lists.Places(len(f.slow[0])), func(e int) []int { return []int{e} })
	return newGrower([]string{"n", "h"}, f.shapes, f.slow, f.general, groups)
}

// taken is the slowdown of what a tree takes for each shape.
func (f field) taken(t *testing.T, n *Node) (all []float64) {
	t.Helper()
	for i, shape := range f.shapes {
		leaf, err := n.Leaf(map[string]expr.Value{"n": expr.Int(shape[0]), "h": expr.Int(shape[1])})
		toy.Must(t, err)
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

// No single condition with the best entry on either side is better than a tree, nor is one leaf. What a condition says
// of the shapes is what it divides them by.
func TestTreeIsGood(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		f := drawn(r, 2+r.IntN(40), 1+r.IntN(5))
		for i := range f.slow { // each entry serves all: then there is no order in leaves
			for e, x := range f.slow[i] {
				f.slow[i][e] = min(x, 2)
			}
		}
		g := f.grower()
		got := sumOf(f.taken(t, g.tree(0)))
		_, leaf := g.leaf(lists.Places(len(g.losses)))
		least := leaf
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
		if got > least+1e-9 {
			t.Errorf("the tree has %v, one condition %v", got, least)
		}
	}
}

// Kernels whose tiles fill waves differently are fastest in turns. A tree from many shapes finds the edges, and is
// right between them.
func TestTreeFindsWaves(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	at := func(n, h int64) []float64 {
		var row []float64
		for _, tile := range []int64{64, 128, 192} {
			blocks := (h + tile - 1) / tile * n
			row = append(row, float64((blocks+7)/8)*(0.2+float64(tile)/64)*(1+0.01*r.Float64()))
		}
		best := slices.Min(row)
		return lists.Of(row, func(x float64) float64 { return x / best })
	}
	var f field
	for i := range 240 {
		h := int64(math.Exp(math.Log(1000) * float64(i%120+1) / 120))
		f.shapes, f.slow, f.general = append(f.shapes, []int64{int64(4 + 3*(i/120)), h}), append(f.slow, at(int64(4+3*(i/120)), h)), append(f.general, 50)
	}
	g := f.grower()
	tree := g.tree(policy.leafPrice / 5) // the shapes are five times as many as samples are
	var held field
	for range 300 {
		n, h := 4+3*r.Int64N(2), 1+r.Int64N(1000)
		held.shapes, held.slow, held.general = append(held.shapes, []int64{n, h}), append(held.slow, at(n, h)), append(held.general, 50)
	}
	for name, x := range map[string]struct {
		of   field
		mean float64
	}{"grown from": {f, 1.02}, "between": {held, 1.06}} {
		if s := score(x.of.taken(t, tree)); s.Mean > x.mean {
			t.Errorf("shapes %s: %s\n%s", name, s, text(t, tree))
		}
	}
}

// No leaf takes longer than the general kernel.
func TestTreeBeatsGeneral(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		f := drawn(r, 4+r.IntN(16), 1+r.IntN(4))
		for i := range f.slow {
			for e, x := range f.slow[i] {
				f.slow[i][e] = min(x, 2)
			}
		}
		g := f.grower()
		tree := g.tree(policy.leafPrice)
		taken := f.taken(t, tree)
		for _, leaf := range leaves(tree) {
			var own, general []float64
			for i, shape := range f.shapes {
				got, err := tree.Leaf(map[string]expr.Value{"n": expr.Int(shape[0]), "h": expr.Int(shape[1])})
				toy.Must(t, err)
				if got == leaf {
					own, general = append(own, taken[i]), append(general, f.general[i])
				}
			}
			if sumOf(own) > sumOf(general)+1e-9 {
				t.Errorf("the leaf %v loses %v, the general kernel %v", leaf.Entries, sumOf(own), sumOf(general))
			}
		}
	}
}

// A leaf names what serves the shapes that its first entry does not.
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

// A limit between two values is the roundest number that divides them.
func TestBetween(t *testing.T) {
	for _, c := range []struct{ low, high, want int64 }{
		{1, 2, 1}, {250, 262, 256}, {300, 330, 320}, {100, 5000, 4096}, {33, 34, 33}, {7, 9, 8}, {math.MaxInt64 - 1, math.MaxInt64, math.MaxInt64 - 1},
	} {
		if got := between(c.low, c.high); got != c.want {
			t.Errorf("between %d and %d: %d, want %d", c.low, c.high, got, c.want)
		}
	}
}

func leaves(n *Node) []*Node {
	if n.If == "" {
		return []*Node{n}
	}
	return append(leaves(n.Then), leaves(n.Else)...)
}

func text(t *testing.T, n *Node) string {
	t.Helper()
	data, err := json.Marshal(n)
	toy.Must(t, err)
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

// The set keeps to the limits where that is possible. Each member is worth its price, and no other kernel would be.
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
	// One kernel that serves all samples is enough where no other is faster.
	if got := (slowdowns{{1, 1, math.Inf(1)}, {math.Inf(1), 1, 1}}).entries(most); !slices.Equal(got, []int{1}) {
		t.Error(got)
	}
}
