package space

import (
	"context"
	"math"
	"slices"

	"autotune/internal/lists"
	"autotune/space/expr"
)

// chooseOrder decides in which order the diagram binds tunables. Tunables tied
// by checks, directly or through others, stand together and form a component;
// components follow each other as declared, so that each of them ends in a
// single node. Within a component the declared order stays unless it promises
// much work.
func (m *model) chooseOrder(ctx context.Context) []int {
	var order []int
	for _, component := range m.components() {
		order = append(order, m.orderComponent(ctx, component)...)
	}
	return order
}

// components groups the tunables that checks tie together, each group and the
// groups themselves in declared order.
func (m *model) components() [][]int {
	leader := lists.Places(len(m.Tunables))
	find := func(i int) int {
		for leader[i] != i {
			i = leader[i]
		}
		return i
	}
	for _, c := range m.checks {
		for _, v := range c.vars[1:] {
			a, b := find(c.vars[0]), find(v)
			leader[max(a, b)] = min(a, b)
		}
	}
	groups := make([][]int, len(m.Tunables))
	for i := range m.Tunables {
		groups[find(i)] = append(groups[find(i)], i)
	}
	return slices.DeleteFunc(groups, func(g []int) bool { return len(g) == 0 })
}

const (
	littleWork = 20_000 // edges that are made faster than an order is sought
	manyStarts = 12     // tunables up to which each is tried as the first
)

// orderComponent looks for the order with the least estimated work: greedily,
// from each tunable as the first.
func (m *model) orderComponent(ctx context.Context, component []int) []int {
	if len(component) < 3 {
		return component
	}
	e := newEstimator(m, component)
	best, least := component, e.work(component)
	if least < littleWork {
		return best
	}
	starts := component
	if len(starts) > manyStarts {
		starts = e.mostTied(manyStarts)
	}
	for _, first := range starts {
		if ctx.Err() != nil {
			break // the search for an order was cancelled: any will do
		}
		if order, work := e.greedy(first, least); work < least {
			best, least = order, work
		}
	}
	return best
}

// estimator guesses how many nodes a layer will have.
type estimator struct {
	*model
	component []int
	checks    []*check
	passing   []float64          // check -> share of combinations that pass it
	layerOf   levels             // tunable -> 0 if bound, else 1
	known     map[*term]float64  // term -> cardinality
	set       []byte             // scratch: layerOf of the component
	estimated map[string]float64 // set -> nodes
}

func newEstimator(m *model, component []int) *estimator {
	e := &estimator{model: m, component: component, layerOf: make(levels, len(m.Tunables)), known: map[*term]float64{}, estimated: map[string]float64{}}
	for _, c := range m.checks {
		if slices.Contains(component, c.vars[0]) {
			e.checks = append(e.checks, c)
			e.passing = append(e.passing, m.sharePassing(c))
		}
	}
	e.unbind()
	return e
}

func (e *estimator) unbind() {
	for i := range e.layerOf {
		e.layerOf[i] = 1
	}
}

// sharePassing evaluates a check for some combinations of its values.
func (m *model) sharePassing(c *check) float64 {
	const tries = 128
	if c.term == nil {
		return 1
	}
	holds := m.tester(c)
	passed, state := 1, uint64(1)
	pick := func(values []int) int {
		state = state*6364136223846793005 + 1442695040888963407
		return values[(state>>33)%uint64(len(values))]
	}
	for range tries {
		if holds(pick) {
			passed++
		}
	}
	return float64(passed) / (tries + 1)
}

// work estimates the edges that building in an order takes.
func (e *estimator) work(order []int) float64 {
	e.unbind()
	work, nodes := 0.0, 1.0
	for _, v := range order {
		work += nodes * float64(len(e.allowed[v]))
		e.layerOf[v] = 0
		nodes = e.nodes()
	}
	return work
}

// greedy binds next whichever tunable leaves the fewest nodes; it gives up
// once the work passes a limit.
func (e *estimator) greedy(first int, limit float64) ([]int, float64) {
	e.unbind()
	order := []int{first}
	e.layerOf[first] = 0
	work, nodes := float64(len(e.allowed[first])), e.nodes()
	for len(order) < len(e.component) && work < limit {
		next, fewest := -1, math.Inf(1)
		for _, v := range e.component {
			if e.isBound(v) {
				continue
			}
			e.layerOf[v] = 0
			if n := e.nodes(); n < fewest {
				next, fewest = v, n
			}
			e.layerOf[v] = 1
		}
		order = append(order, next)
		work += nodes * float64(len(e.allowed[next]))
		e.layerOf[next] = 0
		nodes = fewest
	}
	if len(order) < len(e.component) {
		return nil, math.Inf(1)
	}
	return order, work
}

// nodes is estimate, remembered.
func (e *estimator) nodes() float64 {
	e.set = e.set[:0]
	for _, v := range e.component {
		e.set = append(e.set, byte(e.layerOf[v]))
	}
	n, ok := e.estimated[string(e.set)]
	if !ok {
		n = e.estimate()
		e.estimated[string(e.set)] = n
	}
	return n
}

// estimate guesses the nodes once the tunables with layerOf 0 are bound: no
// more than there are combinations of them that pass, and no more than there
// are combinations of the items that must be remembered.
func (e *estimator) estimate() float64 {
	combinations, remembered := 1.0, 1.0
	needed := make([]bool, len(e.layerOf))
	it := e.terms.collector(func(x *term) bool { return e.layerOf.last(x.vars) <= 0 })
	for _, c := range e.checks {
		if !slices.ContainsFunc(c.vars, e.isBound) || e.settled(c) {
			continue
		}
		for _, v := range c.vars {
			needed[v] = true
		}
		e.collect(it, c)
	}
	for _, v := range e.component {
		if needed[v] && e.isBound(v) {
			combinations *= float64(len(e.allowed[v]))
		}
	}
	for i, c := range e.checks {
		if e.settled(c) && !slices.ContainsFunc(c.vars, func(v int) bool { return !needed[v] }) {
			combinations *= e.passing[i]
		}
	}
	for _, x := range it.items {
		remembered *= e.cardinality(x)
	}
	return max(1, min(combinations, remembered))
}

func (e *estimator) isBound(tunable int) bool { return e.layerOf[tunable] == 0 }

// settled says whether all tunables of a check are bound.
func (e *estimator) settled(c *check) bool { return e.layerOf.last(c.vars) <= 0 }

// cardinality bounds how many values a term has.
func (e *estimator) cardinality(x *term) float64 {
	if n, ok := e.known[x]; ok {
		return n
	}
	n := 1.0
	for _, v := range x.vars {
		n *= float64(len(e.allowed[v]))
	}
	if x.kind == expr.KindInt && x.lo < x.hi || x.kind == expr.KindBool {
		n = min(n, x.hi-x.lo+1)
	}
	e.known[x] = n
	return n
}

// mostTied returns the tunables that occur in the most checks.
func (e *estimator) mostTied(n int) []int {
	count := make([]int, len(e.Tunables))
	for _, c := range e.checks {
		for _, v := range c.vars {
			count[v]++
		}
	}
	tied := slices.Clone(e.component)
	slices.SortStableFunc(tied, func(a, b int) int { return count[b] - count[a] })
	return tied[:n]
}
