package space

import "autotune/space/expr"

// levels knows, for an order of the tunables, when terms are bound.
type levels struct {
	layerOf []int // tunable -> layer
	of      []int // term -> 2 + its level, or 0 if not known yet
}

// last is the last layer that binds one of vars, -1 if there are none.
func (l *levels) last(vars []int) int {
	last := -1
	for _, v := range vars {
		last = max(last, l.layerOf[v])
	}
	return last
}

// level is the last layer that binds a tunable of x.
func (l *levels) level(x *term) int {
	if missing := x.id + 1 - len(l.of); missing > 0 {
		l.of = append(l.of, make([]int, missing)...)
	}
	if l.of[x.id] == 0 {
		l.of[x.id] = 2 + l.last(x.vars)
	}
	return l.of[x.id] - 2
}

// collector lists the items of a layer: the largest subexpressions that are bound.
type collector struct {
	*terms
	bound func(*term) bool
	items []*term
	seen  []bool // terms, by id
}

// visit says whether x has not been visited before.
func (it *collector) visit(x *term) bool {
	if missing := x.id + 1 - len(it.seen); missing > 0 {
		it.seen = append(it.seen, make([]bool, missing)...)
	}
	before := it.seen[x.id]
	it.seen[x.id] = true
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
