package space

import (
	"encoding/binary"
	"math"
	"slices"

	"autotune/space/expr"
)

// A term is an expression that was proven harmless: every name in it has
// values of one kind, and interval arithmetic shows that no combination of
// them divides by zero or leaves 64 bits. Terms can therefore be evaluated in
// any order and part by part, over bare machine words, without checks.
//
// Sums, products, minima, maxima, `and` and `or` are flattened into one term of
// many operands: any of them, once bound, become a single value.
//
// Equal terms are one term, so that pointers tell whether two are equal.
type term struct {
	id     int // counts the terms of a model; that of an operand is smaller
	op     expr.Op
	kind   expr.Kind
	args   []*term
	vars   []int   // the tunables that occur, sorted
	lo, hi float64 // bounds of a number; of an int they are exact below 2^53
	word   uint64  // of a constant; of a tunable its number

	visitor int // the last collector that was here
}

// The operations of terms are those of expressions, and these. A comparison is of
// two operands.
const (
	opEq = expr.Operations + iota
	opNe
	opLt
	opLe

	ofFloats expr.Op = 1 << 7 // with this bit an operation's operands are floats
)

// commutes tells whether an operation takes any number of operands in any order.
func commutes(op expr.Op) bool {
	return op == expr.OpAdd || op == expr.OpMul || op == expr.OpMin || op == expr.OpMax || op == expr.OpAnd || op == expr.OpOr
}

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
	strings map[string]uint64 // strings as words
	made    map[string]*term  // by what they are made of, see intern
	key     []byte            // scratch

	collectors int // made so far: one works at a time
}

// intern returns the one term that is made of the same things as x.
func (t *terms) intern(x term) *term {
	t.key = binary.AppendUvarint(append(t.key[:0], byte(x.op), byte(x.kind)), x.word)
	for _, a := range x.args {
		t.key = binary.AppendUvarint(t.key, uint64(a.id))
	}
	if known, ok := t.made[string(t.key)]; ok {
		return known
	}
	for _, a := range x.args {
		x.vars = append(x.vars, a.vars...)
	}
	slices.Sort(x.vars)
	x.vars = slices.Compact(x.vars)
	x.id = len(t.made)
	t.made[string(t.key)] = &x
	return &x
}

// variable is the term for a tunable, by number.
func (t *terms) variable(tunable int, kind expr.Kind) *term {
	return t.intern(term{op: expr.OpName, kind: kind, word: uint64(tunable), vars: []int{tunable}, hi: math.Inf(1)})
}

// wordOf turns a value into a machine word.
func (t *terms) wordOf(v expr.Value) uint64 {
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
	f, _ := v.AsFloat()
	if v.Kind() != expr.KindString && (math.IsNaN(f) || math.Abs(f) > largest) {
		return nil
	}
	return t.intern(term{op: expr.OpConst, kind: v.Kind(), word: t.wordOf(v), lo: f, hi: f})
}

func (t *terms) int(i int64) *term { return t.constant(expr.Int(i)) }
func (t *terms) bool(b bool) *term { return t.constant(expr.Bool(b)) }

// join makes a term of operands: nested operands of the same operation are
// flattened and those that commute are sorted.
func (t *terms) join(op expr.Op, kind expr.Kind, args []*term) *term {
	if commutes(op) {
		if args = t.flatten(op, kind, args); len(args) == 1 {
			return args[0]
		}
	}
	x := t.intern(term{op: op, kind: kind, args: args})
	switch {
	case len(x.vars) == 0:
		return t.computed(x)
	case kind == expr.KindBool:
		x.lo, x.hi = 0, 1
	}
	return x
}

// computed is the constant that a term of constants gives.
func (t *terms) computed(x *term) *term {
	c := newCompiler(t, nil, func(*term) bool { return false })
	slot := c.compile(x)
	c.once.run(c.slots)
	result := term{op: expr.OpConst, kind: x.kind, word: c.slots[slot]}
	result.lo = float64(int64(result.word))
	if x.kind == expr.KindFloat {
		result.lo = wordFloat(result.word)
	}
	result.hi = result.lo
	return t.intern(result)
}

// flatten takes in the operands of operands with the same operation. Floats
// are left alone: their sums and products depend on the order.
func (t *terms) flatten(op expr.Op, kind expr.Kind, args []*term) []*term {
	var flat []*term
	for _, a := range args {
		switch {
		case a.op == op && a.kind == kind && kind != expr.KindFloat:
			flat = append(flat, a.args...)
		case a.op == expr.OpConst && (op == expr.OpAnd || op == expr.OpOr):
			if (a.word != 0) == (op == expr.OpOr) {
				return []*term{a}
			}
		default:
			flat = append(flat, a)
		}
	}
	if len(flat) == 0 {
		flat = []*term{t.bool(op == expr.OpAnd)}
	}
	if kind != expr.KindFloat {
		slices.SortStableFunc(flat, func(a, b *term) int { return a.id - b.id })
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
	if x.op != expr.OpConst { // a constant is its own bounds
		x.lo, x.hi = lo, hi
	}
	return x
}

// group splits the operands of a term that commutes into those that are bound,
// as one term, and the rest. The term is nil if none is bound.
func (t *terms) group(x *term, bound func(*term) bool) (g *term, rest []*term) {
	if x.kind == expr.KindFloat {
		return nil, x.args
	}
	var args []*term
	vars := false
	for _, a := range x.args {
		if bound(a) {
			args = append(args, a)
			vars = vars || a.op != expr.OpConst
		} else {
			rest = append(rest, a)
		}
	}
	switch {
	case !vars:
		return nil, x.args
	case len(args) == 1:
		return args[0], rest
	}
	return t.intern(term{op: x.op, kind: x.kind, args: args}), rest
}

// translator makes terms of expressions.
type translator struct {
	*terms
	vars   map[string]*term // the tunables that can be terms
	nodes  map[*expr.Node]*term
	truths map[*expr.Node]*term
}

// truth makes the term for n where only its truth matters. Like make, it
// returns nil where n is not provably harmless.
func (t *translator) truth(n *expr.Node) *term { return once(t.truths, n, t.makeTruth) }

// make makes the term for n, or returns nil.
func (t *translator) make(n *expr.Node) *term { return once(t.nodes, n, t.makeValue) }

// once makes the term of a node that may have been met before.
func once(known map[*expr.Node]*term, n *expr.Node, make func(*expr.Node) *term) *term {
	x, ok := known[n]
	if !ok {
		x = make(n)
		known[n] = x
	}
	return x
}

func (t *translator) makeTruth(n *expr.Node) *term {
	switch n.Op {
	case expr.OpAnd:
		return t.connect(expr.OpAnd, n.Args)
	case expr.OpOr:
		return t.connect(expr.OpOr, n.Args)
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

// connect makes the `and` or the `or` of the truths of nodes.
func (t *translator) connect(op expr.Op, nodes []*expr.Node) *term {
	args := make([]*term, len(nodes))
	for i, a := range nodes {
		if args[i] = t.truth(a); args[i] == nil {
			return nil
		}
	}
	return t.join(op, expr.KindBool, args)
}

func (t *translator) makeValue(n *expr.Node) *term {
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
		return t.not(x)
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
	return t.arithmetic(n, args)
}

func (t *terms) not(x *term) *term {
	return t.join(opEq, expr.KindBool, []*term{x, t.bool(false)})
}

// connective is `and` or `or` used as a value: harmless only among bools.
func (t *translator) connective(n *expr.Node) *term {
	for _, a := range n.Args {
		if x := t.make(a); x == nil || x.kind != expr.KindBool {
			return nil
		}
	}
	return t.truth(n)
}

func (t *translator) conditional(n *expr.Node) *term {
	c, a, b := t.truth(n.Args[0]), t.make(n.Args[1]), t.make(n.Args[2])
	if c == nil || a == nil || b == nil || a.kind != b.kind {
		return nil
	}
	x := t.join(expr.OpIf, a.kind, []*term{c, a, b})
	return t.bound(x, min(a.lo, b.lo), max(a.hi, b.hi))
}

// comparison takes single links only; Conjuncts has split chains, and a chain
// deep inside an expression is taken as the `and` of its links.
func (t *translator) comparison(n *expr.Node) *term {
	if len(n.Cmps) > 1 {
		return t.connect(expr.OpAnd, n.Conjuncts())
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
	found := t.join(expr.OpOr, expr.KindBool, equal)
	if cmp == expr.CmpNotIn {
		return t.not(found)
	}
	return found
}

// comparisons are the operations for what is compared; a > b is b < a.
var comparisons = [...]expr.Op{expr.CmpEq: opEq, expr.CmpNe: opNe, expr.CmpLt: opLt, expr.CmpLe: opLe, expr.CmpGt: opLt, expr.CmpGe: opLe}

func (t *terms) compare(cmp expr.Cmp, a, b *term) *term {
	op := comparisons[cmp]
	if cmp == expr.CmpGt || cmp == expr.CmpGe {
		a, b = b, a
	}
	if a.kind == expr.KindString || b.kind == expr.KindString {
		switch {
		case op != opEq && op != opNe:
			return nil
		case a.kind != b.kind:
			return t.bool(op == opNe)
		}
	} else if a, b = t.promote(a, b); a == nil {
		return nil
	} else if v, known := decided(op, a, b); known {
		return t.bool(v)
	}
	return t.join(op, expr.KindBool, []*term{a, b})
}

// decided says whether the bounds of a and b settle a comparison.
func decided(op expr.Op, a, b *term) (value, known bool) {
	apart := a.hi < b.lo || b.hi < a.lo
	switch op {
	case opEq, opNe:
		return op == opNe, apart
	case opLt:
		return a.hi < b.lo, a.hi < b.lo || a.lo >= b.hi
	}
	return a.hi <= b.lo, a.hi <= b.lo || a.lo > b.hi
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
	case a.op == expr.OpConst:
		return t.constant(expr.Float(float64(int64(a.word))))
	}
	return t.bound(t.join(expr.OpFloat, expr.KindFloat, []*term{a}), a.lo, a.hi)
}
