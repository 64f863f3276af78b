package space

import (
	"slices"

	"autotune/space/expr"
)

// Relaxed checks cut partial configurations that nothing can complete. While
// some tunables of a check are still unbound, the check is made with each
// unbound subexpression at the bound that suits it best: x * y <= 100 fails
// already once x * (the least y) exceeds 100. Terms cannot overflow, and what
// is bound of them is at hand as items, so this is cheap.

// relax returns a condition that a check implies once the emitter's layer is
// bound, or nil if none is found.
func (em *emitter) relax(x *term) eval {
	switch {
	case x.level <= em.layer:
		return em.emit(x)
	case x.op == tAnd || x.op == tOr:
		return em.relaxSeries(x)
	case x.op != tCompare || x.args[0].kind == expr.KindString || x.args[0].kind == expr.KindFloat:
		return nil
	}
	a, b := x.args[0], x.args[1]
	switch x.cmp {
	case expr.CmpLt, expr.CmpLe:
		return em.relaxed(x.cmp, em.extreme(a, false), em.extreme(b, true))
	case expr.CmpGt, expr.CmpGe:
		return em.relaxed(x.cmp, em.extreme(a, true), em.extreme(b, false))
	}
	return nil
}

func (em *emitter) relaxSeries(x *term) eval {
	bound, rest := group(x, em.layer)
	var parts []eval
	if bound != nil {
		parts = append(parts, em.emit(bound))
	}
	for _, a := range rest {
		switch f := em.relax(a); {
		case f != nil:
			parts = append(parts, f)
		case x.op == tOr: // it may yet become true
			return nil
		}
	}
	if len(parts) == 0 {
		return nil
	}
	f := parts[0]
	for _, g := range parts[1:] {
		f = pair(x, f, g)
	}
	return f
}

// limit is an extreme of a term: code, or a constant if code is nil.
type limit struct {
	code  eval
	value int64
}

func (em *emitter) relaxed(cmp expr.Cmp, a, b limit) eval {
	switch {
	case a.code == nil && b.code == nil:
		return nil // settled by the bounds alone, or not at all
	case b.code == nil:
		return compareConstant(cmp, a.code, b.value)
	}
	return compareInts(cmp, a.eval(), b.eval())
}

func (l limit) eval() eval {
	if l.code != nil {
		return l.code
	}
	w := intWord(l.value)
	return func([]uint64) uint64 { return w }
}

// extreme gives the least (or the greatest) value that an int term can still
// take once the emitter's layer is bound.
func (em *emitter) extreme(x *term, greatest bool) limit {
	monotone := x.op == tAdd || x.op == tMul && !slices.ContainsFunc(x.args, func(a *term) bool { return a.lo < 0 })
	switch {
	case x.op == tConst:
		return limit{value: int64(x.word)}
	case x.level <= em.layer:
		return limit{code: em.emit(x)}
	case !monotone && greatest:
		return limit{value: int64(x.hi)}
	case !monotone:
		return limit{value: int64(x.lo)}
	}
	bound, rest := group(x, em.layer)
	sum := limit{value: boolInt(x.op == tMul)}
	if bound != nil {
		sum.code = em.emit(bound)
	}
	for _, a := range rest {
		sum = fold(x, sum, em.extreme(a, greatest))
	}
	return sum
}

func boolInt(b bool) int64 { return int64(boolWord(b)) }

// fold adds or multiplies two limits.
func fold(x *term, a, b limit) limit {
	if a.code == nil && b.code == nil {
		if x.op == tMul {
			return limit{value: a.value * b.value}
		}
		return limit{value: a.value + b.value}
	}
	if b.code == nil && b.value == boolInt(x.op == tMul) {
		return a // times one, plus zero
	}
	return limit{code: pair(x, a.eval(), b.eval())}
}
