package space

import (
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
