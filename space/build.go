package space

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"autotune/internal/lists"
	"autotune/space/expr"
)

// builder builds the layers of a diagram from the root downwards. A node is identified by its items, one machine
// word each: the values of the bound terms that later checks still need. Two partial configurations lead to the
// same node of a layer if their items (the values that later checks need) are equal.
type builder struct {
	*model
	order  []int
	level  map[expr.Term]int // variable -> its layer
	last   []int             // term -> the last layer that binds one of its variables, -1 if it has no variables
	layers []layer
	items  []expr.Term // of the nodes of the current layer
	states []uint64    // the words of the items, node after node
	nodes  int
	made   int
	most   int       // the most nodes to make
	failed expr.Term // item 0 if some check may fail; its word is 0, or 1 + the number of the check that failed
}

// mostRoom is the largest number of edges for which a layer allocates memory before it knows how many edges it has.
const mostRoom = 1 << 18

// stride is the number of values that a build tries before it checks again whether its context has ended.
const stride = 4096

func (m *model) build(ctx context.Context, maxNodes int) (*diagram, error) {
	if m.empty {
		return assemble(ctx, lists.Places(len(m.Tunables)), nil, 0)
	}
	b := &builder{model: m, most: maxNodes, order: m.order(), level: map[expr.Term]int{}, nodes: 1}
	for l, tunable := range b.order {
		b.level[m.variables[tunable]] = l
	}
	for _, c := range b.checks {
		c.level = max(0, b.lastOf(c.term))
		if b.failed == 0 && m.program.Kind(c.term) == expr.KindNone {
			b.failed = m.program.Given(expr.KindInt)
		}
	}
	b.items = b.itemsAfter(-1)
	b.states = make([]uint64, len(b.items))
	for l := range b.order {
		if err := b.grow(ctx, l); err != nil {
			return nil, err
		}
	}
	return b.finish(ctx)
}

func (b *builder) lastOf(x expr.Term) int {
	for t := len(b.last); t <= int(x); t++ {
		last := -1
		if l, ok := b.level[expr.Term(t)]; ok {
			last = l
		} else if _, x, y, z := b.program.Operation(expr.Term(t)); x > 0 {
			last = max(b.last[x], b.last[y], b.last[z])
		}
		b.last = append(b.last, last)
	}
	return b.last[x]
}

// itemsAfter lists the terms whose values a build must remember after it has bound layer l: the largest terms of
// the remaining checks that depend on bound tunables only and fit a machine word.
func (b *builder) itemsAfter(l int) (items []expr.Term) {
	seen := map[expr.Term]bool{0: true}
	var collect func(x expr.Term)
	collect = func(x expr.Term) {
		if seen[x] || b.program.Constant(x) {
			return
		}
		seen[x] = true
		if kind := b.program.Kind(x); b.lastOf(x) <= l && kind != expr.KindNone && kind != expr.KindString {
			items = append(items, x)
			return
		}
		_, x, y, z := b.program.Operation(x)
		collect(x)
		collect(y)
		collect(z)
	}
	if b.failed != 0 {
		items = append(items, b.failed)
	}
	for _, c := range b.checks {
		if c.level > l {
			collect(c.term)
		}
	}
	return items
}

// step returns the code that layer l runs for each value at each node, and the checks of the layer whose evaluation may
// fail.
func (b *builder) step(l int, next []expr.Term) (code *expr.Code, risky []*check) {
	code = b.program.Code(append(b.items, b.variables[b.order[l]])...)
	early := func(x expr.Term) bool { return b.lastOf(x) < l }
	for _, c := range b.checks {
		harmless := b.program.Kind(c.term) == expr.KindBool
		switch {
		case c.level == l && !harmless:
			risky = append(risky, c)
			code.Require(c.term, early)
		case c.level >= l && harmless && slices.Contains(c.vars, b.order[l]):
			if x := b.relax(c.term, l); x != 0 {
				code.Require(x, early)
			}
		}
	}
	for _, x := range next {
		code.Compile(x, early)
	}
	return code, risky
}

// grow adds layer l of the diagram: for every node of the layer above, grow tries each value of the layer's tunable.
func (b *builder) grow(ctx context.Context, l int) error {
	tunable := b.order[l]
	next := b.itemsAfter(l)
	code, risky := b.step(l, next)
	width := len(b.items)
	state := make([]uint64, len(next))
	below := newNumbers(b.nodes)
	var states []uint64
	room := min(b.nodes*len(b.allowed[tunable]), mostRoom)
	out := layer{make([]uint32, 1, b.nodes+1), make([]uint32, 0, room), make([]uint32, 0, room)}
	for n := range b.nodes {
		node := b.states[n*width : (n+1)*width]
		for i, word := range node {
			b.program.Slots.Set(b.items[i], word)
		}
		values := b.allowed[tunable]
		if !code.Once() {
			values = nil
		}
		for i, v := range values {
			if i%stride == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			b.program.Slots.Set(b.variables[tunable], b.words[tunable][v])
			if !code.Each() {
				continue
			}
			if b.failed != 0 {
				b.noteFailure(risky, node[0])
			}
			hash := uint64(0)
			for i, x := range next {
				state[i] = b.program.Slots.Word(x)
				hash = mix(hash, state[i])
			}
			target, isNew := below.of(hash, func(n uint32) bool {
				return slices.Equal(states[int(n)*len(state):][:len(state)], state)
			})
			if isNew {
				states = append(states, state...)
			}
			out.value = append(out.value, uint32(v))
			out.target = append(out.target, target)
		}
		out.edges = append(out.edges, uint32(len(out.value)))
		if b.made+below.len() > b.most || len(out.value) > 8*b.most {
			return fmt.Errorf("%w: its constraints tie %d tunables together so that more than %d partial "+
				"configurations differ (at %s); simplify the constraints or remove values", ErrTooLarge, l+1, b.most, b.Tunables[tunable].Name)
		}
	}
	b.made += below.len()
	b.layers = append(b.layers, out)
	b.items, b.states, b.nodes = next, states, below.len()
	return nil
}

// noteFailure stores the number, from 1, of the first check whose evaluation failed, or 0 if none failed; `before` is
// the number that an earlier layer stored, which is kept unless it is 0.
func (b *builder) noteFailure(risky []*check, before uint64) {
	for _, c := range risky {
		if before == 0 && b.program.Slots.Failed(c.term) {
			before = uint64(slices.Index(b.checks, c)) + 1
		}
	}
	b.program.Slots.Set(b.failed, before)
}

// finish assembles the diagram, or reports a check that failed for a configuration that all other checks allow.
func (b *builder) finish(ctx context.Context) (*diagram, error) {
	if b.failed != 0 {
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

// pathTo returns the values of the tunables along one path from the root to a node of the last layer.
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

// relax returns a condition that depends only on variables bound up to layer l and that must hold if x holds, or 0
// if it finds no such condition. A build drops partial configurations for which the returned condition fails, since
// they cannot be completed: relax replaces each unbound term of x by the bound with which x holds most easily. For
// example, x * y <= 100 fails for every y if it fails for the least y, so a large x is dropped before y is bound.
func (b *builder) relax(x expr.Term, l int) expr.Term {
	if b.lastOf(x) <= l {
		return x
	}
	op, left, right, _ := b.program.Operation(x)
	switch op {
	case expr.OpAnd, expr.OpOr:
		a, c := b.relax(left, l), b.relax(right, l)
		switch {
		case a != 0 && c != 0:
			return b.program.Condition(op, a, c)
		case op == expr.OpAnd:
			return max(a, c)
		}
	case expr.OpLt, expr.OpLe:
		if b.program.Kind(left) == expr.KindFloat || b.program.Kind(right) == expr.KindFloat {
			return 0
		}
		least, most := b.extreme(left, l, false), b.extreme(right, l, true)
		if !b.program.Constant(least) || !b.program.Constant(most) {
			return b.program.Condition(op, least, most)
		}
	}
	return 0
}

// extreme returns the least (or greatest) value that an int term can still take, as a term that uses only variables
// bound up to layer l.
func (b *builder) extreme(x expr.Term, l int, greatest bool) expr.Term {
	op, left, right, _ := b.program.Operation(x)
	factors := op == expr.OpMul && b.program.Range(left).Lo >= 0 && b.program.Range(right).Lo >= 0
	bounds := b.program.Range(x)
	switch {
	case b.lastOf(x) <= l:
		return x
	case op == expr.OpAdd || factors:
		return b.program.Number(op, b.extreme(left, l, greatest), b.extreme(right, l, greatest))
	case op == expr.OpSub:
		return b.program.Number(op, b.extreme(left, l, greatest), b.extreme(right, l, !greatest))
	case greatest:
		return b.program.Int(int64(bounds.Hi))
	}
	return b.program.Int(int64(bounds.Lo))
}
