package space

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"autotune/space/expr"
)

// A term is an expression that was proven harmless: every name in it has
// values of one kind, and interval arithmetic shows that no combination of
// them divides by zero or leaves 64 bits. Terms can therefore be evaluated in
// any order and part by part, over bare machine words, without checks.
//
// Sums, products, minima, maxima, `and` and `or` are flattened into one term of
// many operands, so that any of them, once bound, melt into a single value.
type term struct {
	op     termOp
	kind   expr.Kind
	args   []*term
	vars   []int // the tunables that occur, sorted
	level  int   // the last layer that binds one of vars; set once the order is known
	key    string
	lo, hi float64 // bounds of a number; of an int they are exact below 2^53
	word   uint64  // of a constant
	cmp    expr.Cmp
}

type termOp uint8

const (
	tConst termOp = iota
	tVar
	tAdd // from here to tOr: any number of operands in any order
	tMul
	tMin
	tMax
	tAnd
	tOr
	tNeg
	tDiv
	tFloorDiv
	tCeilDiv
	tMod
	tPow
	tNot
	tIf
	tCompare
	tToFloat
	tToInt
	tRound
	tAbs
)

var termNames = [...]string{"", "", "+", "*", "min", "max", "and", "or", "neg", "/", "//", "ceil_div", "%", "**",
	"not", "if", "", "float", "int", "round", "abs"}

func (op termOp) commutes() bool { return tAdd <= op && op <= tOr }

// largest is the magnitude up to which ints are exact as floats. Terms keep
// within it, so that their bounds are exact too.
const largest = 1 << 53

func intWord(i int64) uint64     { return uint64(i) }
func floatWord(f float64) uint64 { return math.Float64bits(f) }
func wordFloat(w uint64) float64 { return math.Float64frombits(w) }
func boolWord(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// terms makes terms over the tunables of a model.
type terms struct {
	vars    map[string]*term
	strings map[string]uint64 // strings as words
}

// word turns a value into a machine word.
func (t *terms) word(v expr.Value) uint64 {
	switch v.Kind() {
	case expr.KindFloat:
		f, _ := v.AsFloat()
		return floatWord(f)
	case expr.KindString:
		s := v.String()
		w, ok := t.strings[s]
		if !ok {
			w = uint64(len(t.strings))
			t.strings[s] = w
		}
		return w
	}
	i, _ := v.AsInt()
	return intWord(i)
}

func (t *terms) constant(v expr.Value) *term {
	c := &term{op: tConst, kind: v.Kind(), word: t.word(v), key: v.Source()}
	c.lo, _ = v.AsFloat()
	c.hi = c.lo
	if c.kind != expr.KindString && (math.IsNaN(c.lo) || math.Abs(c.lo) > largest) {
		return nil
	}
	return c
}

func (t *terms) int(i int64) *term { return t.constant(expr.Int(i)) }
func (t *terms) bool(b bool) *term { return t.constant(expr.Bool(b)) }

// truth makes the term for n where only its truth matters. Like make, it
// returns nil where n is not provably harmless.
func (t *terms) truth(n *expr.Node) *term {
	switch n.Op {
	case expr.OpAnd, expr.OpOr:
		args := make([]*term, len(n.Args))
		for i, a := range n.Args {
			if args[i] = t.truth(a); args[i] == nil {
				return nil
			}
		}
		if n.Op == expr.OpAnd {
			return t.join(tAnd, expr.KindBool, args)
		}
		return t.join(tOr, expr.KindBool, args)
	}
	x := t.make(n)
	switch {
	case x == nil || x.kind == expr.KindString:
		return nil
	case x.kind == expr.KindBool:
		return x
	}
	return t.compare(expr.CmpNe, x, t.int(0))
}

// make makes the term for n, or returns nil.
func (t *terms) make(n *expr.Node) *term {
	switch n.Op {
	case expr.OpConst:
		return t.constant(n.Value)
	case expr.OpName:
		return t.vars[n.Name]
	case expr.OpNot:
		x := t.truth(n.Args[0])
		if x == nil {
			return nil
		}
		return t.join(tNot, expr.KindBool, []*term{x})
	case expr.OpAnd, expr.OpOr:
		return t.connective(n)
	case expr.OpIf:
		return t.conditional(n)
	case expr.OpCompare:
		return t.comparison(n)
	}
	args := make([]*term, len(n.Args))
	for i, a := range n.Args {
		if args[i] = t.make(a); args[i] == nil || args[i].kind == expr.KindString {
			return nil
		}
	}
	if n.Op == expr.OpCall {
		return t.call(n, args)
	}
	return t.arithmetic(n.Op, args)
}

// connective is `and` or `or` used as a value: harmless only among bools.
func (t *terms) connective(n *expr.Node) *term {
	for _, a := range n.Args {
		if x := t.make(a); x == nil || x.kind != expr.KindBool {
			return nil
		}
	}
	return t.truth(n)
}

func (t *terms) conditional(n *expr.Node) *term {
	c, a, b := t.truth(n.Args[0]), t.make(n.Args[1]), t.make(n.Args[2])
	if c == nil || a == nil || b == nil || a.kind != b.kind {
		return nil
	}
	x := t.join(tIf, a.kind, []*term{c, a, b})
	return t.bound(x, min(a.lo, b.lo), max(a.hi, b.hi))
}

// comparison takes single links only; Conjuncts has split chains, and a chain
// deep inside an expression is taken as the `and` of its links.
func (t *terms) comparison(n *expr.Node) *term {
	if len(n.Cmps) > 1 {
		return t.truth(&expr.Node{Op: expr.OpAnd, Column: n.Column, Args: n.Conjuncts()})
	}
	left, cmp := t.make(n.Args[0]), n.Cmps[0]
	if left == nil {
		return nil
	}
	if n.Args[1].Op != expr.OpTuple {
		right := t.make(n.Args[1])
		if right == nil || cmp >= expr.CmpIn {
			return nil
		}
		return t.compare(cmp, left, right)
	}
	var equal []*term
	for _, a := range n.Args[1].Args {
		item := t.make(a)
		if item == nil {
			return nil
		}
		if x := t.compare(expr.CmpEq, left, item); x != nil {
			equal = append(equal, x)
		} else {
			return nil
		}
	}
	found := t.join(tOr, expr.KindBool, equal)
	if cmp == expr.CmpNotIn {
		return t.join(tNot, expr.KindBool, []*term{found})
	}
	return found
}

func (t *terms) compare(cmp expr.Cmp, a, b *term) *term {
	if a.kind == expr.KindString || b.kind == expr.KindString {
		switch {
		case cmp != expr.CmpEq && cmp != expr.CmpNe:
			return nil
		case a.kind != b.kind:
			return t.bool(cmp == expr.CmpNe)
		}
	} else if a, b = t.promote(a, b); a == nil {
		return nil
	} else if v, known := decided(cmp, a, b); known {
		return t.bool(v)
	}
	x := t.join(tCompare, expr.KindBool, []*term{a, b})
	x.cmp = cmp
	x.key = "(" + a.key + " " + cmp.String() + " " + b.key + ")"
	return x
}

// decided says whether the bounds of a and b settle a comparison.
func decided(cmp expr.Cmp, a, b *term) (value, known bool) {
	switch cmp {
	case expr.CmpEq, expr.CmpNe:
		if a.hi < b.lo || b.hi < a.lo {
			return cmp == expr.CmpNe, true
		}
	case expr.CmpLt, expr.CmpGe:
		if a.hi < b.lo || a.lo >= b.hi {
			return (a.hi < b.lo) == (cmp == expr.CmpLt), true
		}
	case expr.CmpLe, expr.CmpGt:
		if a.hi <= b.lo || a.lo > b.hi {
			return (a.hi <= b.lo) == (cmp == expr.CmpLe), true
		}
	}
	return false, false
}

// promote makes floats of both numbers if one is a float.
func (t *terms) promote(a, b *term) (*term, *term) {
	if (a.kind == expr.KindFloat) == (b.kind == expr.KindFloat) {
		return a, b
	}
	return t.float(a), t.float(b)
}

func (t *terms) float(a *term) *term {
	switch {
	case a.kind == expr.KindFloat:
		return a
	case a.op == tConst:
		return t.constant(expr.Float(float64(int64(a.word))))
	}
	return t.bound(t.join(tToFloat, expr.KindFloat, []*term{a}), a.lo, a.hi)
}

// join makes a term of operands: nested operands of the same operation are
// flattened and those that commute are sorted.
func (t *terms) join(op termOp, kind expr.Kind, args []*term) *term {
	x := &term{op: op, kind: kind, args: args}
	if op.commutes() {
		if x = t.flatten(x); len(x.args) == 1 {
			return x.args[0]
		}
	}
	keys := make([]string, len(x.args))
	for i, a := range x.args {
		keys[i] = a.key
		x.vars = append(x.vars, a.vars...)
	}
	x.key = termNames[op] + "(" + strings.Join(keys, " ") + ")"
	slices.Sort(x.vars)
	x.vars = slices.Compact(x.vars)
	if kind == expr.KindBool {
		x.lo, x.hi = 0, 1
	}
	return x
}

// flatten takes in the operands of operands with the same operation. Floats
// are left alone: their sums and products depend on the order.
func (t *terms) flatten(x *term) *term {
	flat := &term{op: x.op, kind: x.kind}
	for _, a := range x.args {
		switch {
		case a.op == x.op && a.kind == x.kind && x.kind != expr.KindFloat:
			flat.args = append(flat.args, a.args...)
		case a.op == tConst && (x.op == tAnd || x.op == tOr):
			if (a.word != 0) == (x.op == tOr) {
				return &term{args: []*term{a}}
			}
		default:
			flat.args = append(flat.args, a)
		}
	}
	if len(flat.args) == 0 {
		flat.args = []*term{t.bool(x.op == tAnd)}
	}
	if x.kind != expr.KindFloat {
		slices.SortStableFunc(flat.args, func(a, b *term) int { return strings.Compare(a.key, b.key) })
	}
	return flat
}

// bound sets the bounds of x; nil if an int passes what floats hold exactly, or
// a float might be infinite.
func (t *terms) bound(x *term, lo, hi float64) *term {
	switch {
	case x.kind == expr.KindFloat && !(-math.MaxFloat64 <= lo && hi <= math.MaxFloat64):
		return nil
	case x.kind == expr.KindInt && (lo < -largest || hi > largest):
		return nil
	}
	x.lo, x.hi = lo, hi
	return x
}

func varKey(tunable int) string { return "$" + strconv.Itoa(tunable) }
