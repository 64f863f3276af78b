package space

import (
	"math"
	"slices"

	"autotune/space/expr"
)

func (t *translator) arithmetic(n *expr.Node, args []*term) *term {
	a, op := args[0], n.Op
	switch op {
	case expr.OpNeg:
		return t.negate(a)
	case expr.OpPlus:
		return t.whole(a)
	case expr.OpBool:
		return t.truth(n.Args[0])
	case expr.OpFloat:
		return t.float(a)
	case expr.OpInt, expr.OpRound:
		return t.integer(op, args)
	case expr.OpAbs:
		return t.bound(t.join(op, a.number(), []*term{a}), 0, a.magnitude())
	case expr.OpMin, expr.OpMax:
		return t.extreme(op, args)
	case expr.OpGcd:
		return nil
	}
	return t.binary(op, a, args[1])
}

// binary makes the term of an operation on two numbers.
func (t *terms) binary(op expr.Op, a, b *term) *term {
	divides := op == expr.OpDiv || op == expr.OpFloorDiv || op == expr.OpMod || op == expr.OpCeilDiv
	switch {
	case divides && b.mayBeZero(), op == expr.OpCeilDiv && (a.kind == expr.KindFloat || b.kind == expr.KindFloat):
		return nil
	case op == expr.OpDiv:
		return t.corners(expr.OpDiv, expr.KindFloat, t.float(a), t.float(b), func(x, y float64) float64 { return x / y })
	}
	if a, b = t.promote(a, b); a == nil || b == nil {
		return nil
	}
	kind := a.number()
	switch op {
	case expr.OpAdd:
		return t.sum(kind, a, b)
	case expr.OpSub:
		if b = t.negate(b); b == nil {
			return nil
		}
		return t.sum(kind, a, b)
	case expr.OpMul:
		return t.product(kind, a, b)
	case expr.OpPow:
		return t.power(kind, a, b)
	case expr.OpMod:
		return t.bound(t.join(expr.OpMod, kind, []*term{a, b}), min(b.lo, 0), max(b.hi, 0))
	}
	if op == expr.OpCeilDiv {
		return t.corners(op, kind, a, b, func(x, y float64) float64 { return math.Ceil(x / y) })
	}
	x := t.corners(expr.OpFloorDiv, kind, a, b, func(x, y float64) float64 { return math.Floor(x / y) })
	if x != nil && kind == expr.KindFloat {
		return t.bound(x, x.lo-1, x.hi+1) // the quotient may have been rounded over a whole number
	}
	return x
}

// whole turns a bool into an int, whose machine word is the same.
func (t *terms) whole(a *term) *term {
	if a.kind != expr.KindBool {
		return a
	}
	return t.bound(t.join(expr.OpAdd, expr.KindInt, []*term{a, t.int(0)}), 0, 1)
}

// number is the kind of what is computed from x: a bool counts as an int.
func (x *term) number() expr.Kind {
	if x.kind == expr.KindFloat {
		return expr.KindFloat
	}
	return expr.KindInt
}

func (x *term) mayBeZero() bool    { return x.lo <= 0 && x.hi >= 0 }
func (x *term) magnitude() float64 { return max(math.Abs(x.lo), math.Abs(x.hi)) }

func (t *terms) negate(a *term) *term {
	return t.bound(t.join(expr.OpNeg, a.number(), []*term{a}), -a.hi, -a.lo)
}

// sum and product check all operands together, so that no part of them, in
// whichever order, can leave the range that the whole keeps within.
func (t *terms) sum(kind expr.Kind, a, b *term) *term {
	x := t.join(expr.OpAdd, kind, []*term{a, b})
	most := 0.0
	for _, arg := range x.args {
		most += arg.magnitude()
	}
	if kind == expr.KindInt && most > largest {
		return nil
	}
	return t.bound(x, a.lo+b.lo, a.hi+b.hi)
}

func (t *terms) product(kind expr.Kind, a, b *term) *term {
	x := t.corners(expr.OpMul, kind, a, b, func(x, y float64) float64 { return x * y })
	if x == nil {
		return nil
	}
	most := 1.0
	for _, arg := range x.args {
		most *= max(1, arg.magnitude())
	}
	if kind == expr.KindInt && most > largest {
		return nil
	}
	return x
}

// corners makes a term of an operation whose extremes lie at extremes of its
// operands.
func (t *terms) corners(op expr.Op, kind expr.Kind, a, b *term, f func(x, y float64) float64) *term {
	c := []float64{f(a.lo, b.lo), f(a.lo, b.hi), f(a.hi, b.lo), f(a.hi, b.hi)}
	return t.bound(t.join(op, kind, []*term{a, b}), slices.Min(c), slices.Max(c))
}

// power takes ints with exponents that are not negative.
func (t *terms) power(kind expr.Kind, a, b *term) *term {
	most := math.Pow(max(1, a.magnitude()), b.hi)
	if kind != expr.KindInt || b.lo < 0 || !(most <= largest) {
		return nil
	}
	lo := 0.0
	if a.lo < 0 {
		lo = -most
	}
	return t.bound(t.join(expr.OpPow, kind, []*term{a, b}), lo, most)
}

func (t *terms) integer(op expr.Op, args []*term) *term {
	a := args[0]
	switch {
	case len(args) > 1:
		return nil
	case a.kind != expr.KindFloat:
		return t.whole(a)
	case !(a.lo > -largest/2 && a.hi < largest/2):
		return nil
	}
	return t.bound(t.join(op, expr.KindInt, []*term{a}), op.Floats(a.lo, 0), op.Floats(a.hi, 0))
}

// extreme is min or max of ints, or of bools. Among floats the order would
// matter for NaN.
func (t *terms) extreme(op expr.Op, args []*term) *term {
	pick := math.Min
	if op == expr.OpMax {
		pick = math.Max
	}
	lo, hi := args[0].lo, args[0].hi
	for _, a := range args {
		if a.kind != args[0].kind || a.kind == expr.KindFloat {
			return nil
		}
		lo, hi = pick(lo, a.lo), pick(hi, a.hi)
	}
	return t.bound(t.join(op, args[0].kind, args), lo, hi)
}
