package space

import "autotune/space/expr"

// translator makes terms of expressions.
type translator struct {
	*terms
	vars   map[string]*term // the tunables that can be terms
	nodes  map[*expr.Node]*term
	truths map[*expr.Node]*term
}

func newTranslator(t *terms) *translator {
	return &translator{t, map[string]*term{}, map[*expr.Node]*term{}, map[*expr.Node]*term{}}
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
