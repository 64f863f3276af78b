package space

import (
	"math"
	"slices"

	"autotune/space/expr"
)

func (t *terms) arithmetic(op expr.Op, args []*term) *term {
	a := args[0]
	switch op {
	case expr.OpNeg:
		return t.negate(a)
	case expr.OpPlus:
		return t.whole(a)
	}
	b := args[1]
	divides := op == expr.OpDiv || op == expr.OpFloorDiv || op == expr.OpMod
	switch {
	case divides && b.mayBeZero():
		return nil
	case op == expr.OpDiv:
		return t.corners(tDiv, expr.KindFloat, t.float(a), t.float(b), func(x, y float64) float64 { return x / y })
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
		return t.bound(t.join(tMod, kind, []*term{a, b}), min(b.lo, 0), max(b.hi, 0))
	}
	x := t.corners(tFloorDiv, kind, a, b, func(x, y float64) float64 { return math.Floor(x / y) })
	if x != nil && kind == expr.KindFloat {
		return t.bound(x, x.lo-1, x.hi+1) // the quotient may have been rounded over a whole number
	}
	return x
}

// whole turns a bool into an int; as words they are the same.
func (t *terms) whole(a *term) *term {
	if a.kind != expr.KindBool {
		return a
	}
	return t.bound(t.join(tAdd, expr.KindInt, []*term{a, t.int(0)}), 0, 1)
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
	return t.bound(t.join(tNeg, a.number(), []*term{a}), -a.hi, -a.lo)
}

// sum and product check all operands together, so that no part of them, in
// whichever order, can leave the range that the whole keeps within.
func (t *terms) sum(kind expr.Kind, a, b *term) *term {
	x := t.join(tAdd, kind, []*term{a, b})
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
	x := t.corners(tMul, kind, a, b, func(x, y float64) float64 { return x * y })
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
func (t *terms) corners(op termOp, kind expr.Kind, a, b *term, f func(x, y float64) float64) *term {
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
	return t.bound(t.join(tPow, kind, []*term{a, b}), lo, most)
}

func (t *terms) call(n *expr.Node, args []*term) *term {
	a := args[0]
	switch n.Name {
	case "bool":
		return t.truth(n.Args[0])
	case "float":
		return t.float(a)
	case "int", "round":
		return t.integer(n, args)
	case "abs":
		return t.bound(t.join(tAbs, a.number(), []*term{a}), 0, a.magnitude())
	case "ceil_div":
		if a.kind == expr.KindFloat || args[1].kind == expr.KindFloat || args[1].mayBeZero() {
			return nil
		}
		return t.corners(tCeilDiv, expr.KindInt, a, args[1], func(x, y float64) float64 { return math.Ceil(x / y) })
	case "gcd":
		return nil
	}
	return t.extreme(n.Name, args)
}

func (t *terms) integer(n *expr.Node, args []*term) *term {
	a := args[0]
	switch {
	case len(args) > 1:
		return nil
	case a.kind != expr.KindFloat:
		return t.whole(a)
	case !(a.lo > -largest/2 && a.hi < largest/2):
		return nil
	case n.Name == "round":
		return t.bound(t.join(tRound, expr.KindInt, []*term{a}), math.RoundToEven(a.lo), math.RoundToEven(a.hi))
	}
	return t.bound(t.join(tToInt, expr.KindInt, []*term{a}), math.Trunc(a.lo), math.Trunc(a.hi))
}

// extreme is min or max of ints, or of bools. Among floats the order would
// matter for NaN.
func (t *terms) extreme(name string, args []*term) *term {
	op, pick := tMin, math.Min
	if name == "max" {
		op, pick = tMax, math.Max
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
