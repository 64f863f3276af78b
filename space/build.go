package space

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"

	"autotune/internal/lists"
	"autotune/space/expr"
)

// builder grows the layers of a diagram from the root downwards. A node of a
// layer is known by its items: the values of the bound subexpressions that later
// checks still need, one machine word each. Nodes with equal items are one node.
type builder struct {
	*model
	order  []int
	levels levels
	layers []layer
	items  []*term  // of the nodes of the layer at hand
	states []uint64 // their words, node after node
	nodes  int
	made   int
	most   int          // nodes to make
	failed *term        // item 0 if some check may fail: 0, or the number of the check that did + 1
	values []expr.Value // scratch for checks that may fail
}

// stride is how many values are tried between two looks at the context.
const stride = 4096

func (m *model) build(ctx context.Context, maxNodes int) (*diagram, error) {
	if m.empty {
		return assemble(ctx, lists.Places(len(m.Tunables)), nil, 0)
	}
	b := &builder{model: m, most: maxNodes, order: m.chooseOrder(ctx), values: make([]expr.Value, len(m.Tunables))}
	b.prepare()
	for l := range b.order {
		if err := b.grow(ctx, l); err != nil {
			return nil, err
		}
	}
	return b.finish(ctx)
}

func (b *builder) prepare() {
	b.levels = make(levels, len(b.order))
	for l, tunable := range b.order {
		b.levels[tunable] = l
	}
	for _, c := range b.checks {
		c.level = b.levels.last(c.vars)
		if c.term == nil {
			b.failed = b.terms.intern(term{op: expr.OpName, word: math.MaxUint64})
		}
	}
	b.items = b.itemsAfter(-1)
	b.nodes = 1
	b.states = make([]uint64, len(b.items))
}

// itemsAfter lists what must be remembered once a layer is bound.
func (b *builder) itemsAfter(l int) []*term {
	it := b.terms.collector(b.boundBy(l))
	if b.failed != nil {
		it.add(b.failed)
	}
	for _, c := range b.checks {
		if c.level > l {
			b.collect(it, c)
		}
	}
	return it.items
}

func (b *builder) boundBy(l int) func(*term) bool {
	return func(x *term) bool { return b.levels.last(x.vars) <= l }
}

// step is one layer's work for each value of its tunable at each node.
type step struct {
	code
	slot  []int    // tunable -> slot, of those that risky checks need
	risky []*check // checks that may fail
	next  []int    // the slots of the next layer's items
}

func (b *builder) step(l int, next []*term) step {
	tunable := b.order[l]
	c := newCompiler(&b.terms, b.items, b.boundBy(l-1))
	c.place(b.tunable(tunable), 0, true)
	r := relaxer{&b.terms, b.boundBy(l)}
	s := step{slot: make([]int, len(b.order))}
	for _, check := range b.checks {
		switch {
		case check.level < l:
		case check.term == nil && check.level == l:
			s.risky = append(s.risky, check)
			for _, v := range check.vars {
				s.slot[v] = c.at[b.tunable(v)]
			}
		case check.term != nil && slices.Contains(check.vars, tunable):
			if x := r.relax(check.term); x != nil {
				c.require(x)
			}
		}
	}
	for _, x := range next {
		s.next = append(s.next, c.compile(x))
	}
	s.code = c.code
	return s
}

// grow binds the tunable of layer l at every node of the layer.
func (b *builder) grow(ctx context.Context, l int) error {
	tunable := b.order[l]
	next := b.itemsAfter(l)
	s := b.step(l, next)
	width := len(b.items)
	state := make([]uint64, len(next))
	below := newNumbers(b.nodes)
	var states []uint64
	out := layer{edges: make([]uint32, 1, b.nodes+1)}
	for n := range b.nodes {
		node := b.states[n*width : (n+1)*width]
		copy(s.slots, node)
		values := b.allowed[tunable]
		if !s.once.run(s.slots) {
			values = nil
		}
		for i, v := range values {
			if i%stride == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			s.slots[width] = b.words[tunable][v]
			if !s.each.run(s.slots) || s.risky != nil && !b.risk(&s, node[0]) {
				continue
			}
			hash := uint64(0)
			for i, slot := range s.next {
				state[i] = s.slots[slot]
				hash = mix(hash, state[i])
			}
			target, isNew := below.of(hash, func(n uint32) bool { return slices.Equal(states[int(n)*len(state):][:len(state)], state) })
			if isNew {
				states = append(states, state...)
			}
			out.value = append(out.value, uint32(v))
			out.target = append(out.target, target)
		}
		out.edges = append(out.edges, uint32(len(out.value)))
		if b.made+below.len() > b.most || len(out.value) > 8*b.most {
			return b.tooLarge(l)
		}
	}
	b.made += below.len()
	b.layers = append(b.layers, out)
	b.items, b.states, b.nodes = next, states, below.len()
	return nil
}

func (b *builder) tooLarge(l int) error {
	return fmt.Errorf("%w: its constraints tie %d tunables together so that more than %d partial configurations differ (at %s); simplify the constraints or remove values",
		ErrTooLarge, l+1, b.most, b.Tunables[b.order[l]].Name)
}

// risk makes the checks that may fail. The first that does is remembered in
// item 0, unless failed says that an earlier layer's has.
func (b *builder) risk(s *step, failed uint64) bool {
	s.slots[0] = failed
	for _, c := range s.risky {
		for _, v := range c.vars {
			b.values[v] = b.Tunables[v].Values[slices.Index(b.words[v], s.slots[s.slot[v]])]
		}
		v, err := c.folded.Eval(b.values)
		switch {
		case err != nil && s.slots[0] == 0:
			s.slots[0] = uint64(slices.Index(b.checks, c)) + 1
		case err == nil && !v.Truth():
			return false
		}
	}
	return true
}

// finish assembles the diagram, unless a configuration that all other checks
// allow makes one fail.
func (b *builder) finish(ctx context.Context) (*diagram, error) {
	if b.failed != nil {
		for n := range b.nodes {
			if which := b.states[n]; which != 0 {
				return nil, b.describe(b.checks[which-1], b.pathTo(uint32(n)))
			}
		}
	}
	if b.failing != nil && b.nodes > 0 {
		return nil, b.describe(b.failing, b.pathTo(0))
	}
	return assemble(ctx, b.order, b.layers, b.nodes)
}

// pathTo finds the values on some path to a node after the last layer.
func (b *builder) pathTo(node uint32) []int {
	choice := make([]int, len(b.order))
	for l := len(b.layers) - 1; l >= 0; l-- {
		in := &b.layers[l]
		e := slices.Index(in.target, node)
		choice[b.order[l]] = int(in.value[e])
		node = uint32(sort.Search(len(in.edges), func(n int) bool { return int(in.edges[n]) > e }) - 1)
	}
	return choice
}

// levels are the layers that bind the tunables, for an order of them.
type levels []int

// last is the last layer that binds one of vars, -1 if there are none.
func (l levels) last(vars []int) int {
	last := -1
	for _, v := range vars {
		last = max(last, l[v])
	}
	return last
}

// collector lists the items of a layer: the largest subexpressions that are bound.
type collector struct {
	*terms
	bound func(*term) bool
	items []*term
}

func (t *terms) collector(bound func(*term) bool) *collector {
	t.collectors++
	return &collector{terms: t, bound: bound}
}

// visit says whether x has not been visited before.
func (it *collector) visit(x *term) bool {
	before := x.visitor == it.collectors
	x.visitor = it.collectors
	return !before
}

func (it *collector) add(x *term) {
	if it.visit(x) {
		it.items = append(it.items, x)
	}
}

// collect adds the items of x.
func (it *collector) collect(x *term) {
	switch {
	case x.op == expr.OpConst:
		return
	case it.bound(x):
		it.add(x)
		return
	case !it.visit(x):
		return
	}
	args := x.args
	if commutes(x.op) {
		var g *term
		if g, args = it.group(x, it.bound); g != nil {
			it.add(g)
		}
	}
	for _, a := range args {
		it.collect(a)
	}
}

// collect adds what must be remembered of a check that is still to be made.
func (m *model) collect(it *collector, c *check) {
	if c.term != nil {
		it.collect(c.term)
		return
	}
	for _, v := range c.vars {
		it.collect(m.tunable(v))
	}
}
