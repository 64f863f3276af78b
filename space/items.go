package space

import "autotune/space/expr"

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
