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
type relaxer struct {
	*terms
	bound func(*term) bool // whether a term is bound once the layer at hand is
}

// relax returns a condition on what is bound that x implies, or nil if none is found.
func (r relaxer) relax(x *term) *term {
	switch {
	case r.bound(x):
		return x
	case x.op == expr.OpAnd || x.op == expr.OpOr:
		return r.series(x)
	case x.op != opLt && x.op != opLe || x.args[0].kind == expr.KindFloat:
		return nil
	}
	a, b := r.extreme(x.args[0], false), r.extreme(x.args[1], true)
	if a.op == expr.OpConst && b.op == expr.OpConst {
		return nil // settled by the bounds alone, or not at all
	}
	return r.intern(term{op: x.op, kind: x.kind, args: []*term{a, b}})
}

func (r relaxer) series(x *term) *term {
	bound, rest := r.group(x, r.bound)
	var parts []*term
	if bound != nil {
		parts = append(parts, bound)
	}
	for _, a := range rest {
		switch part := r.relax(a); {
		case part != nil:
			parts = append(parts, part)
		case x.op == expr.OpOr: // it may yet become true
			return nil
		}
	}
	switch len(parts) {
	case 0:
		return nil
	case 1:
		return parts[0]
	}
	return r.intern(term{op: x.op, kind: x.kind, args: parts})
}

// extreme gives the least (or the greatest) value that an int term can still
// take, as a term over what is bound.
func (r relaxer) extreme(x *term, greatest bool) *term {
	monotone := x.op == expr.OpAdd || x.op == expr.OpMul && !slices.ContainsFunc(x.args, func(a *term) bool { return a.lo < 0 })
	switch {
	case r.bound(x):
		return x
	case !monotone && greatest:
		return r.int(int64(x.hi))
	case !monotone:
		return r.int(int64(x.lo))
	}
	neutral := intWord(0)
	if x.op == expr.OpMul {
		neutral = intWord(1)
	}
	bound, rest := r.group(x, r.bound)
	var args []*term
	if bound != nil {
		args = append(args, bound)
	}
	constant := neutral
	for _, a := range rest {
		switch e := r.extreme(a, greatest); {
		case e.op != expr.OpConst:
			args = append(args, e)
		case x.op == expr.OpMul:
			constant *= e.word
		default:
			constant += e.word
		}
	}
	if constant != neutral || len(args) == 0 {
		args = append(args, r.int(int64(constant)))
	}
	if len(args) == 1 {
		return args[0]
	}
	return r.intern(term{op: x.op, kind: x.kind, args: args})
}
