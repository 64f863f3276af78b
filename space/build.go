package space

import (
	"fmt"
	"slices"

	"autotune/space/expr"
)

// items are what a node of a layer is known by: the values of the bound
// subexpressions that later checks still need, one machine word each. Nodes
// with equal items are one node.
type items struct {
	keys  map[string]int // -> slot
	terms []*term        // by slot
}

// builder grows the layers of a diagram from the root downwards.
type builder struct {
	*model
	opt     Options
	order   []int
	layerOf []int // tunable -> layer
	layers  []layer
	items   items    // of the nodes of the layer at hand
	states  []uint64 // their words, node after node
	nodes   int
	made    int
	generic bool         // some check may fail; item 0 then says whether one has
	values  []expr.Value // scratch for checks that may fail
	texts   []string     // word -> string
}

// failed is the term of item 0: 0, or the number of the check that failed + 1.
var failed = &term{op: tVar, key: "failed", level: -1}

func (m *model) build(opt Options) (*diagram, error) {
	if m.empty {
		return &diagram{order: declared(len(m.Tunables)), edges: []uint32{0, 0}}, nil
	}
	b := &builder{model: m, opt: opt, order: m.chooseOrder(), values: make([]expr.Value, len(m.Tunables))}
	b.prepare()
	for l := range b.order {
		if err := b.grow(l); err != nil {
			return nil, err
		}
	}
	return b.finish()
}

func declared(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

func (b *builder) prepare() {
	b.layerOf = make([]int, len(b.order))
	for l, tunable := range b.order {
		b.layerOf[tunable] = l
	}
	for _, c := range b.checks {
		c.level = b.top(c.vars)
		if c.term != nil {
			c.term.setLevels(b.layerOf)
		} else {
			b.generic = true
		}
	}
	b.texts = make([]string, len(b.terms.strings))
	for s, w := range b.terms.strings {
		b.texts[w] = s
	}
	b.items = b.itemsAfter(-1)
	b.nodes = 1
	b.states = make([]uint64, len(b.items.terms))
}

func (b *builder) top(vars []int) int {
	top := -1
	for _, v := range vars {
		top = max(top, b.layerOf[v])
	}
	return top
}

func (x *term) setLevels(layerOf []int) {
	x.level = 0
	for _, v := range x.vars {
		x.level = max(x.level, layerOf[v])
	}
	for _, a := range x.args {
		a.setLevels(layerOf)
	}
}

// itemsAfter lists what must be remembered once a layer is bound.
func (b *builder) itemsAfter(l int) items {
	it := items{keys: map[string]int{}}
	if b.generic {
		it.add(failed)
	}
	for _, c := range b.checks {
		switch {
		case c.level <= l:
		case c.term != nil:
			it.collect(c.term, l)
		default:
			for _, v := range c.vars {
				if b.layerOf[v] <= l {
					it.add(&term{op: tVar, key: varKey(v), level: b.layerOf[v]})
				}
			}
		}
	}
	return it
}

func (it *items) add(x *term) {
	if _, ok := it.keys[x.key]; !ok {
		it.keys[x.key] = len(it.terms)
		it.terms = append(it.terms, x)
	}
}

// collect adds the largest subexpressions of x that are bound by a level.
func (it *items) collect(x *term, level int) {
	switch {
	case x.op == tConst:
		return
	case x.level <= level:
		it.add(x)
		return
	case x.op.commutes():
		if g, rest := group(x, level); g != nil {
			it.add(g)
			for _, a := range rest {
				it.collect(a, level)
			}
			return
		}
	}
	for _, a := range x.args {
		it.collect(a, level)
	}
}

// step is one layer's work: what to check and what to compute for each value
// of its tunable at each node.
type step struct {
	checks []eval   // harmless ones
	risky  []*check // the others
	slots  map[string]int
	next   []eval
}

func (b *builder) step(l int, next items) step {
	tunable := b.order[l]
	slots := map[string]int{}
	for k, i := range b.items.keys {
		slots[k] = i
	}
	slots[varKey(tunable)] = len(b.items.terms)
	em := emitter{layer: l, slots: slots}
	s := step{slots: slots}
	for _, c := range b.checks {
		switch {
		case c.level < l:
		case c.level > l:
			if c.term != nil && slices.Contains(c.vars, tunable) {
				if f := em.relax(c.term); f != nil {
					s.checks = append(s.checks, f)
				}
			}
		case c.term != nil:
			s.checks = append(s.checks, em.emit(c.term))
		default:
			s.risky = append(s.risky, c)
		}
	}
	for _, x := range next.terms {
		s.next = append(s.next, em.emit(x))
	}
	return s
}

// grow binds the tunable of layer l at every node of the layer.
func (b *builder) grow(l int) error {
	tunable := b.order[l]
	next := b.itemsAfter(l)
	s := b.step(l, next)
	width := len(b.items.terms)
	slots := make([]uint64, width+1)
	state := make([]uint64, len(next.terms))
	below := newStates(len(next.terms), b.nodes)
	out := layer{edges: make([]uint32, 1, b.nodes+1)}
	for n := range b.nodes {
		for _, v := range b.allowed[tunable] {
			copy(slots, b.states[n*width:(n+1)*width])
			slots[width] = b.words[tunable][v]
			if !b.passes(&s, slots) {
				continue
			}
			for i, f := range s.next {
				state[i] = f(slots)
			}
			out.value = append(out.value, uint32(v))
			out.target = append(out.target, below.node(state))
		}
		out.edges = append(out.edges, uint32(len(out.value)))
		if b.made+below.nodes > b.opt.MaxNodes || len(out.value) > 16*b.opt.MaxNodes {
			return b.tooLarge(l)
		}
	}
	b.made += below.nodes
	b.layers = append(b.layers, out)
	b.items, b.states, b.nodes = next, below.words, below.nodes
	return nil
}

func (b *builder) tooLarge(l int) error {
	return fmt.Errorf("%w: its constraints tie %d tunables together so that more than %d partial configurations differ (at %s); simplify the constraints or remove values",
		ErrTooLarge, l+1, b.opt.MaxNodes, b.Tunables[b.order[l]].Name)
}

func (b *builder) passes(s *step, slots []uint64) bool {
	for _, f := range s.checks {
		if f(slots) == 0 {
			return false
		}
	}
	for _, c := range s.risky {
		for _, v := range c.vars {
			b.values[v] = b.valueOf(v, slots[s.slots[varKey(v)]])
		}
		v, err := c.program.Eval(b.values)
		switch {
		case err != nil && slots[0] == 0:
			slots[0] = uint64(b.numberOf(c)) + 1
		case err == nil && !v.Truth():
			return false
		}
	}
	return true
}

func (b *builder) numberOf(c *check) int {
	for i := range b.checks {
		if b.checks[i] == c {
			return i
		}
	}
	return -1
}

// valueOf turns a word of a tunable back into the value.
func (b *builder) valueOf(tunable int, w uint64) expr.Value {
	switch b.kinds[tunable] {
	case expr.KindInt:
		return expr.Int(int64(w))
	case expr.KindFloat:
		return expr.Float(wordFloat(w))
	case expr.KindBool:
		return expr.Bool(w != 0)
	case expr.KindString:
		return expr.String(b.texts[w])
	}
	return b.Tunables[tunable].Values[w]
}

// finish assembles the diagram, unless a configuration that all other checks
// allow makes one fail.
func (b *builder) finish() (*diagram, error) {
	goal := uint32(0)
	if b.generic {
		for n := range b.nodes {
			if which := b.states[n]; which != 0 {
				return nil, b.describe(b.checks[which-1], b.pathTo(uint32(n)))
			}
		}
	}
	if b.failing != nil && b.nodes > 0 {
		return nil, b.describe(b.failing, b.pathTo(goal))
	}
	return assemble(b.order, b.layers, b.nodes, goal)
}

// pathTo finds the values on some path to a node after the last layer.
func (b *builder) pathTo(node uint32) []int {
	choice := make([]int, len(b.order))
	for l := len(b.layers) - 1; l >= 0; l-- {
		in := &b.layers[l]
		e := 0
		for in.target[e] != node {
			e++
		}
		choice[b.order[l]] = int(in.value[e])
		n := 0
		for int(in.edges[n+1]) <= e {
			n++
		}
		node = uint32(n)
	}
	return choice
}

// states numbers the distinct states of a layer's nodes.
type states struct {
	width int
	nodes int
	words []uint64
	table []uint32 // node + 1, or 0
}

func newStates(width, expected int) *states {
	size := 64
	for size < expected {
		size *= 2
	}
	return &states{width: width, table: make([]uint32, size)}
}

// node returns the node with a state, a new one if it is new.
func (s *states) node(state []uint64) uint32 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, w := range state {
		h = mix(h ^ w)
		h *= 0x9e3779b97f4a7c15
	}
	mask := uint64(len(s.table) - 1)
	for slot := (h >> 20) & mask; ; slot = (slot + 1) & mask {
		entry := s.table[slot]
		if entry == 0 {
			s.table[slot] = uint32(s.nodes) + 1
			s.words = append(s.words, state...)
			s.nodes++
			if 2*s.nodes > len(s.table) {
				s.rehash()
			}
			return uint32(s.nodes - 1)
		}
		if s.same(entry-1, state) {
			return entry - 1
		}
	}
}

func (s *states) same(node uint32, state []uint64) bool {
	at := int(node) * s.width
	for i, w := range state {
		if s.words[at+i] != w {
			return false
		}
	}
	return true
}

func (s *states) rehash() {
	old := *s
	*s = states{width: s.width, words: s.words[:0:len(s.words)], table: make([]uint32, 2*len(s.table))}
	for n := range old.nodes {
		s.node(old.words[n*s.width : (n+1)*s.width])
	}
}
