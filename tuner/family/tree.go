package family

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"autotune/space/expr"
)

// Node is a part of a dispatcher's tree: a condition with a node for either case, or a leaf.
type Node struct {
	If         string // over the free dimensions, as "n*h*w <= 4096"; "": this is a leaf
	Then, Else *Node
	// Entries of a leaf: the first that serves a shape is taken. None: the general kernel.
	Entries []int
}

// MarshalJSON writes {"if", "then", "else"} or {"entries"}.
func (n *Node) MarshalJSON() ([]byte, error) {
	if n.If == "" {
		return json.Marshal(map[string][]int{"entries": append([]int{}, n.Entries...)})
	}
	return json.Marshal(struct {
		If   string `json:"if"`
		Then *Node  `json:"then"`
		Else *Node  `json:"else"`
	}{n.If, n.Then, n.Else})
}

// Leaf is the leaf of the shape with these values.
func (n *Node) Leaf(values map[string]expr.Value) (*Node, error) {
	for n.If != "" {
		e, err := expr.Parse(n.If)
		if err != nil {
			return nil, err
		}
		v, err := e.Eval(values)
		if err != nil {
			return nil, err
		}
		if n.Else, n.Then = cmp.Or(n.Else, &Node{}), cmp.Or(n.Then, &Node{}); v.Truth() {
			n = n.Then
		} else {
			n = n.Else
		}
	}
	return n, nil
}

// Walk calls a function with each leaf and what leads there, as "n <= 8 and h*w > 4096".
func (n *Node) Walk(visit func(leaf *Node, where string)) { n.walk(nil, visit) }

func (n *Node) walk(path []string, visit func(*Node, string)) {
	if n.If == "" {
		visit(n, strings.Join(path, " and "))
		return
	}
	n.Then.walk(append(slices.Clone(path), n.If), visit)
	n.Else.walk(append(slices.Clone(path), strings.Replace(n.If, "<=", ">", 1)), visit)
}

// Conditions are those of a tree, the first one first.
func (n *Node) Conditions() []string {
	if n == nil || n.If == "" {
		return nil
	}
	return slices.Concat([]string{n.If}, n.Then.Conditions(), n.Else.Conditions())
}

// The bounds of a tree.
const (
	mostDepth   = 3
	mostTrees   = 100_000 // by which many samples have trees less deep: every tree is looked at
	mostSamples = 64      // a set of samples is a word
	// unserved is how slow a shape counts that no entry serves where there is no general kernel.
	unserved = 1e6
	// leafPrice is by how much a leaf must make the geometric mean better.
	leafPrice = 0.002
)

// garden grows trees for the samples of a family.
type garden struct {
	names   []string    // of the free dimensions
	shapes  [][]int64   // their values, by sample
	slow    slowdowns   // of the groups: an entry, or those of one configuration, which serve one shape each
	groups  [][]int     // the entries of each
	general []float64   // slowdown of the general kernel by sample; unserved: there is none
	logs    [][]float64 // of an entry's slowdowns, then the general kernel's, by sample
	splits  []split
	serving []uint64 // the samples that an entry serves
	memo    map[plot]grown
	orders  map[uint64]sequence // by the samples that they are for
}

// split is a condition, and the samples that it holds of.
type split struct {
	text string
	mask uint64
}

type plot struct {
	mask  uint64
	depth int
}

// sequence is entries for some samples: each takes the first that serves it, or the general kernel.
type sequence struct {
	entries []int
	sum     float64 // of logarithms of slowdowns
	ok      bool    // it keeps to the limit
}

// first is an entry that a sequence may begin with.
type first struct {
	entry  int
	served uint64
	sum    float64 // of logarithms at what it serves
}

func (f first) mean() float64 { return f.sum / float64(bits.OnesCount64(f.served)) }

// breadth is how many entries are tried for a sequence's next one.
const breadth = 3

// grown is the best tree for some samples: least sum of logarithms of slowdowns.
type grown struct {
	node *Node
	sum  float64 // with the price of the leaves
	ok   bool    // it keeps to the limit
}

func newGarden(names []string, shapes [][]int64, slow slowdowns, general []float64, groups [][]int) *garden {
	g := &garden{names: names, shapes: shapes, groups: groups, serving: make([]uint64, len(groups))}
	for i := range slow {
		g.general = append(g.general, min(general[i], unserved))
		row, logs := make([]float64, len(groups)), make([]float64, len(groups)+1)
		for e, group := range groups {
			if row[e] = min(slow.best(i, group), unserved); row[e] < unserved {
				g.serving[e] |= 1 << i
			}
			logs[e] = math.Log(row[e])
		}
		logs[len(row)] = math.Log(g.general[i])
		g.slow, g.logs = append(g.slow, row), append(g.logs, logs)
	}
	g.splits = g.candidates()
	return g
}

func (g *garden) everyone() uint64 { return uint64(1)<<(len(g.shapes)-1)<<1 - 1 }

// candidates are conditions between neighbouring values of single dimensions and of products.
// Of those that divide the samples alike, the shortest stays.
func (g *garden) candidates() (all []split) {
	var subsets []int
	for subset := 1; subset < 1<<len(g.names); subset++ {
		if n := bits.OnesCount(uint(subset)); n <= 3 || n == len(g.names) {
			subsets = append(subsets, subset)
		}
	}
	slices.SortStableFunc(subsets, func(a, b int) int { return bits.OnesCount(uint(a)) - bits.OnesCount(uint(b)) })
	seen := map[uint64]bool{}
	for _, subset := range subsets {
		var names []string
		values := make([]int64, len(g.shapes))
		for i := range values {
			values[i] = 1
		}
		for at, name := range g.names {
			if subset>>at&1 == 1 {
				names = append(names, name)
				for i, shape := range g.shapes {
					values[i] = product(values[i], shape[at])
				}
			}
		}
		distinct := slices.Compact(slices.Sorted(slices.Values(values)))
		for i := 1; i < len(distinct); i++ {
			limit := between(distinct[i-1], distinct[i])
			var mask uint64
			for s, v := range values {
				if v <= limit {
					mask |= 1 << s
				}
			}
			if !seen[mask] {
				seen[mask] = true
				all = append(all, split{fmt.Sprintf("%s <= %d", strings.Join(names, "*"), limit), mask})
			}
		}
	}
	return all
}

// product is that of two dimensions, and the largest number beyond that.
func product(a, b int64) int64 {
	if high, low := bits.Mul64(uint64(a), uint64(b)); high == 0 && low <= math.MaxInt64 {
		return int64(low)
	}
	return math.MaxInt64
}

// between is a number from low to below high, near the geometric middle. A power of two is
// taken where there is one.
func between(low, high int64) int64 {
	middle := math.Sqrt(float64(low)) * math.Sqrt(float64(high))
	near := int64(1) << min(62, max(0, int(math.Round(math.Log2(middle)))))
	for _, power := range []int64{near, near / 2, near * 2} {
		if low <= power && power < high {
			return power
		}
	}
	return min(max(int64(middle), low), high-1)
}

// plant is the tree that is best by its worst slowdown, then by the mean. A worst slowdown
// below easy is good enough. No more depth is used than that takes.
func (g *garden) plant(easy float64) (*Node, float64) {
	limits := []float64{easy}
	for i := range g.slow {
		limits = append(limits, append(slices.Clone(g.slow[i]), g.general[i])...)
	}
	limits = slices.Compact(slices.Sorted(slices.Values(slices.DeleteFunc(limits, func(x float64) bool { return x < easy }))))
	best, least := g.within(g.everyone(), 0, unserved), unserved
	for depth, trees := 0, 1; depth <= mostDepth && trees <= mostTrees; depth, trees = depth+1, trees*max(2, len(g.splits)) {
		at, _ := slices.BinarySearchFunc(limits, true, func(limit float64, _ bool) int {
			if g.within(g.everyone(), depth, limit).ok {
				return 0
			}
			return -1
		})
		if at < len(limits) && (limits[at] < least || depth == 0) {
			best, least = g.within(g.everyone(), depth, limits[at]), limits[at]
		}
		if least <= easy {
			break
		}
	}
	return best.node, least
}

// plantWithout is the tree of all samples but one, within a limit that a tree of all keeps to.
func (g *garden) plantWithout(sample, depth int, limit float64) *Node {
	own := *g // others are grown at the same time
	return own.within(g.everyone()&^(1<<sample), depth, limit).node
}

// within is the best tree of a depth for some samples whose slowdowns keep to a limit.
func (g *garden) within(mask uint64, depth int, limit float64) grown {
	g.memo, g.orders = map[plot]grown{}, map[uint64]sequence{}
	best := g.grow(mask, depth, limit)
	best.node = g.complete(best.node, mask)
	return best
}

// complete is a tree whose leaves name entries for other shapes, too.
func (g *garden) complete(n *Node, mask uint64) *Node {
	if at := slices.IndexFunc(g.splits, func(s split) bool { return s.text == n.If }); at >= 0 {
		yes := g.splits[at].mask
		return &Node{If: n.If, Then: g.complete(n.Then, mask&yes), Else: g.complete(n.Else, mask&^yes)}
	}
	if len(n.Entries) == 0 {
		return n
	}
	var entries []int
	for _, group := range slices.Concat(n.Entries, g.others(mask, n.Entries)) {
		entries = append(entries, g.groups[group]...)
	}
	return &Node{Entries: entries}
}

func (g *garden) grow(mask uint64, depth int, limit float64) grown {
	if known, ok := g.memo[plot{mask, depth}]; ok {
		return known
	}
	order, sum, ok := g.leaf(mask, limit)
	best := grown{&Node{Entries: order}, sum + leafPrice*float64(len(g.shapes)), ok}
	if depth > 0 {
		seen := map[uint64]bool{}
		for _, s := range g.splits {
			yes, no := mask&s.mask, mask&^s.mask
			if yes == 0 || no == 0 || seen[yes] {
				continue
			}
			seen[yes] = true
			then := g.grow(yes, depth-1, limit)
			if !then.ok || best.ok && then.sum >= best.sum {
				continue
			}
			other := g.grow(no, depth-1, limit)
			if sum := then.sum + other.sum; other.ok && (!best.ok || sum < best.sum-1e-12) {
				best = grown{&Node{If: s.text, Then: then.node, Else: other.node}, sum, true}
			}
		}
	}
	g.memo[plot{mask, depth}] = best
	return best
}

// leaf is the order of entries that is best for some samples: each takes the first that serves
// it. It never takes longer than the general kernel, by the geometric mean.
func (g *garden) leaf(mask uint64, limit float64) (entries []int, sum float64, ok bool) {
	general := 0.0
	for i := range g.samples(mask) {
		general += g.logs[i][len(g.slow[i])]
	}
	best := g.order(mask, limit)
	if !best.ok || len(best.entries) == 0 || best.sum > general {
		within := true
		for i := range g.samples(mask) {
			within = within && g.general[i] <= limit
		}
		return nil, general, within
	}
	return best.entries, best.sum, true
}

// order is leaf without the comparison with the general kernel, which serves what the entries
// leave. Of the entries that may be first, the few that are fastest in the mean of what they serve are tried.
func (g *garden) order(mask uint64, limit float64) sequence {
	if known, ok := g.orders[mask]; ok {
		return known
	}
	best := sequence{ok: true}
	for i := range g.samples(mask) {
		best.sum, best.ok = best.sum+g.logs[i][len(g.slow[i])], best.ok && g.general[i] <= limit
	}
	for _, f := range g.firsts(mask, limit) {
		rest := sequence{ok: true}
		if f.served != mask {
			rest = g.order(mask&^f.served, limit)
		}
		if sum := f.sum + rest.sum; rest.ok && (!best.ok || sum < best.sum) {
			best = sequence{append([]int{f.entry}, rest.entries...), sum, true}
		}
	}
	g.orders[mask] = best
	return best
}

// firsts are entries that keep to the limit at all samples of a set that they serve.
func (g *garden) firsts(mask uint64, limit float64) (all []first) {
	for e, serving := range g.serving {
		one := first{entry: e, served: serving & mask}
		within := one.served != 0
		for i := range g.samples(one.served) {
			one.sum += g.logs[i][e]
			if within = g.slow[i][e] <= limit; !within {
				break
			}
		}
		if within {
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(a, b first) int { return cmp.Compare(a.mean(), b.mean()) })
	return all[:min(len(all), breadth)]
}

// others are the entries that a leaf's samples do not need, for other shapes there: those that
// are faster than the general kernel in the mean of what they serve, the fastest first. Entries that slow
// a sample down which the needed ones leave to the general kernel are none. Entries that serve none
// of the leaf's samples come last, by how they do at all samples.
func (g *garden) others(mask uint64, order []int) (more []int) {
	const elsewhere = 1e3
	means := map[int]float64{}
	for e := range g.slow[0] {
		mean, faster := g.mean(mask, e)
		if math.IsNaN(mean) {
			mean, faster = g.mean(g.everyone(), e)
			mean += elsewhere
		}
		if faster && !slices.Contains(order, e) && !g.slows(mask, order, e) {
			more, means[e] = append(more, e), mean
		}
	}
	slices.SortStableFunc(more, func(a, b int) int { return cmp.Compare(means[a], means[b]) })
	return more
}

// slows tells whether an entry is slower than the general kernel at a sample that others do not serve.
func (g *garden) slows(mask uint64, others []int, e int) bool {
	for i := range g.samples(mask) {
		served := slices.ContainsFunc(others, func(o int) bool { return g.slow[i][o] < unserved })
		if x := g.slow[i][e]; !served && x < unserved && x > g.general[i] {
			return true
		}
	}
	return false
}

// mean is that of an entry's logarithms of slowdowns at samples that it serves, and whether the general
// kernel's is no better there; NaN: it serves none.
func (g *garden) mean(mask uint64, e int) (mean float64, faster bool) {
	sum, general, n := 0.0, 0.0, 0.0
	for i := range g.samples(mask) {
		if g.slow[i][e] < unserved {
			sum, general, n = sum+g.logs[i][e], general+g.logs[i][len(g.slow[i])], n+1
		}
	}
	return sum / n, sum <= general
}

// samples are those of a set.
func (g *garden) samples(mask uint64) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for ; mask != 0; mask &= mask - 1 {
			if !yield(bits.TrailingZeros64(mask)) {
				return
			}
		}
	}
}

// depth of a tree.
func (n *Node) depth() int {
	if n.If == "" {
		return 0
	}
	return 1 + max(n.Then.depth(), n.Else.depth())
}
