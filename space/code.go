package space

import (
	"slices"

	"autotune/space/expr"
)

// code is the work of one layer as straight instructions over an array of
// machine words, its slots: first the items of a node, then the word of the
// tunable that the layer binds, then constants and what instructions compute.
// Terms cannot fail, so that both sides of an `if` are computed, and what two
// terms share is computed once.
type code struct {
	slots []uint64
	once  instructions // do not depend on the layer's tunable: run once a node
	each  instructions // run for each of its values
}

type instructions []instruction

type instruction struct {
	op      expr.Op // with the bit ofFloats: on floats
	must    bool    // if the result is 0, the values are not valid: stop
	to      uint32  // the slot of the result
	a, b, c uint32  // the slots of the operands; 0 for those that are not there
}

// run computes over slots and says whether all that must hold does.
func (code instructions) run(slots []uint64) bool {
	for i := range code {
		in := &code[i]
		a, b := slots[in.a], slots[in.b]
		var w uint64
		switch in.op {
		case expr.OpAdd: // the commonest have no call between them
			w = a + b
		case expr.OpMul:
			w = a * b
		case expr.OpAnd:
			w = a & b
		case expr.OpOr:
			w = a | b
		case expr.OpIf, expr.OpIf | ofFloats:
			if w = b; a == 0 {
				w = slots[in.c]
			}
		case opEq:
			w = boolWord(a == b)
		case opNe:
			w = boolWord(a != b)
		case opLt:
			w = boolWord(int64(a) < int64(b))
		case opLe:
			w = boolWord(int64(a) <= int64(b))
		case expr.OpFloat:
			w = floatWord(float64(int64(a)))
		default:
			if in.op&ofFloats == 0 {
				c, _ := in.op.Ints(int64(a), int64(b))
				w = intWord(c)
			} else {
				w = onFloats(in.op&^ofFloats, wordFloat(a), wordFloat(b))
			}
		}
		if in.must && w == 0 {
			return false
		}
		slots[in.to] = w
	}
	return true
}

// onFloats computes an operation whose operands are floats.
func onFloats(op expr.Op, a, b float64) uint64 {
	switch op {
	case opEq:
		return boolWord(a == b)
	case opNe:
		return boolWord(a != b)
	case opLt:
		return boolWord(a < b)
	case opLe:
		return boolWord(a <= b)
	case expr.OpInt, expr.OpRound:
		return intWord(int64(op.Floats(a, b)))
	}
	return floatWord(op.Floats(a, b))
}

// compiler makes the code of a layer.
type compiler struct {
	*terms
	code
	at     map[*term]int    // where the words of items, of the tunable and of computed terms lie
	bound  func(*term) bool // whether the layers before bind a term
	varies []bool           // slot -> whether it depends on the layer's tunable
}

// newCompiler makes a compiler for a layer whose nodes have these items.
func newCompiler(t *terms, known []*term, bound func(*term) bool) *compiler {
	c := &compiler{terms: t, at: map[*term]int{}, bound: bound}
	for _, x := range known {
		c.place(x, 0, false)
	}
	return c
}

// place gives a term a slot.
func (c *compiler) place(x *term, word uint64, varies bool) int {
	c.at[x] = len(c.slots)
	c.slots = append(c.slots, word)
	c.varies = append(c.varies, varies)
	return len(c.slots) - 1
}

// compile computes x, unless that is done, and returns its slot.
func (c *compiler) compile(x *term) int {
	if at, ok := c.at[x]; ok {
		return at
	}
	switch {
	case x.op == expr.OpConst:
		return c.place(x, x.word, false)
	case commutes(x.op):
		return c.series(x)
	}
	in := instruction{op: x.op}
	if x.args[0].kind == expr.KindFloat || x.op == expr.OpIf && x.kind == expr.KindFloat {
		in.op |= ofFloats
	}
	for i, to := range []*uint32{&in.a, &in.b, &in.c}[:len(x.args)] {
		*to = uint32(c.compile(x.args[i]))
	}
	return c.add(x, in)
}

// operands are those of a term that commutes; the ones that the layers before
// bind have become one item.
func (c *compiler) operands(x *term) []*term {
	if g, rest := c.group(x, c.bound); g != nil {
		if _, ok := c.at[g]; ok {
			return append([]*term{g}, rest...)
		}
	}
	return x.args
}

func (c *compiler) series(x *term) int {
	args := c.operands(x)
	in := instruction{op: x.op, a: uint32(c.compile(args[0]))}
	if x.kind == expr.KindFloat {
		in.op |= ofFloats
	}
	for i, a := range args[1:] {
		in.b = uint32(c.compile(a))
		result := x
		if i+2 < len(args) {
			result = nil
		}
		in.a = uint32(c.add(result, in))
	}
	return int(in.a)
}

// add appends an instruction; x is what it computes, nil for an interim result.
func (c *compiler) add(x *term, in instruction) int {
	varies := c.varies[in.a] || c.varies[in.b] || c.varies[in.c]
	in.to = uint32(len(c.slots))
	if varies {
		c.each = append(c.each, in)
	} else {
		c.once = append(c.once, in)
	}
	return c.place(x, 0, varies)
}

// require makes the code stop unless x holds.
func (c *compiler) require(x *term) {
	if _, item := c.at[x]; x.op == expr.OpAnd && !item {
		for _, a := range c.operands(x) {
			c.require(a)
		}
		return
	}
	slot := uint32(c.compile(x))
	for _, code := range []instructions{c.each, c.once} {
		for i := range code {
			if code[i].to == slot {
				code[i].must = true
				return
			}
		}
	}
	c.add(nil, instruction{op: expr.OpOr, must: true, a: slot, b: slot})
}

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
