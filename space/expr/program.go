package expr

import "math"

// Program is a sequence of instructions that computes expressions. Each instruction computes one term from terms with
// smaller numbers, and stores it in the slot with the term's number. Instructions have no side effects, and a failed
// operation is a value, so a Program can compute both sides of an `if`, and computes equal terms only once.
//
// A term that has a kind is called harmless, because its evaluation is proved never to fail: every name in the term has
// values of one kind, and interval arithmetic rules out divisions by zero and overflows of 64 bits. The evaluation of a
// term without a kind (KindNone) may fail, or yield values of several kinds.
type Program struct {
	Slots     Slots
	code      []instruction
	facts     []fact
	names     map[string]Term // the terms of names; evaluating any other name fails
	constants map[Value]Term
	made      map[instruction]Term
	lowered   map[lowered]Term
}

// A Term is the number of an instruction in a Program, and of the slot in which that instruction stores its result.
type Term uint32

type instruction struct {
	op          Op   // with the bit onWords or onFloats if the term is harmless
	must        bool // stop if the result is false, because the values are not valid
	to, a, b, c Term // b equals a in an operation of one operand
}

// Operations that cannot fail run on machine words, without checks.
const (
	onWords  Op = 1 << 7 // all operands are ints or bools
	onFloats Op = 1 << 6 // at least one operand is a float
)

type fact struct {
	kind  Kind
	Range         // of a number
	node  *Node   // where the term may fail
	table []Value // the list of values of opPick
}

// lowered identifies a compiled node, so that the same node is compiled only once; truth means that only the truth of
// the node's value is needed.
type lowered struct {
	*Node
	truth bool
}

// NewProgram returns a program in which term 0 is reserved to mean no term.
func NewProgram() *Program {
	p := &Program{
		names: map[string]Term{}, constants: map[Value]Term{}, made: map[instruction]Term{}, lowered: map[lowered]Term{},
	}
	p.Given(KindInt)
	return p
}

func (p *Program) add(in instruction, f fact) Term {
	in.to = Term(len(p.code))
	p.code = append(p.code, in)
	p.facts = append(p.facts, f)
	p.Slots = append(p.Slots, Value{kind: f.kind})
	return in.to
}

// Given adds a term whose value the caller stores in the term's slot.
func (p *Program) Given(kind Kind) Term { return p.add(instruction{op: OpName}, fact{kind: kind}) }

// unset adds a term for a name or call without a value, whose evaluation fails.
func (p *Program) unset(n *Node) Term {
	x := p.add(instruction{op: OpName}, fact{node: n})
	p.Slots[x].bits = uint64(x)
	return x
}

// Variable declares a name that has one of the given values; `allowed` lists the indices of the values that are still
// possible. The caller of Variable sets the returned term to one of the returned machine words, which stand for the
// values. The machine word for a value is the number itself if all values are numbers of one kind, otherwise the
// value's index.
func (p *Program) Variable(name string, values []Value, allowed []int) (variable Term, words []uint64) {
	f := fact{kind: values[0].kind, Range: Range{math.Inf(1), math.Inf(-1)}}
	words = make([]uint64, len(values))
	for i, v := range values {
		words[i] = v.bits
		if v.kind != f.kind {
			f.kind = KindNone
		}
	}
	for _, i := range allowed {
		x, _ := values[i].AsFloat()
		f.Range = f.union(Range{x, x})
	}
	if f.harmless() && f.kind != KindString {
		p.names[name] = p.add(instruction{op: OpName}, f)
		return p.names[name], words
	}
	for i := range words {
		words[i] = uint64(i)
	}
	place := p.Given(KindInt)
	pick := fact{table: values}
	if f.kind == KindString {
		pick.kind = KindString
	}
	p.names[name] = p.add(instruction{op: opPick, a: place, b: place}, pick)
	return place, words
}

// harmless tells whether a term cannot fail and, if it is a number, whether floats represent its bounds exactly.
func (f *fact) harmless() bool {
	switch f.kind {
	case KindFloat:
		return f.within(math.MaxFloat64)
	case KindInt:
		return f.within(exact - 1) // 2^53 may stand for an int that is no float
	}
	return f.kind != KindNone
}

func (p *Program) constant(v Value) Term {
	x, ok := p.constants[v]
	if !ok {
		n, _ := v.AsFloat()
		f := fact{kind: v.kind, Range: Range{n, n}}
		if !f.harmless() {
			f.kind = KindNone
		}
		x = p.add(instruction{op: OpConst}, f)
		p.Slots[x], p.constants[v] = v, x
	}
	return x
}

func (p *Program) Int(i int64) Term   { return p.constant(Int(i)) }
func (p *Program) Truth(n *Node) Term { return p.lower(n, true) }

func (p *Program) lower(n *Node, truth bool) Term {
	x, ok := p.lowered[lowered{n, truth}]
	if !ok {
		if truth && n.Op != OpAnd && n.Op != OpOr {
			x = p.truth(n, p.lower(n, false))
		} else {
			x = p.term(n, truth)
		}
		p.lowered[lowered{n, truth}] = x
	}
	return x
}

func (p *Program) term(n *Node, truth bool) Term {
	switch n.Op {
	case OpConst:
		return p.constant(n.Value)
	case OpName, OpCall:
		x, ok := p.names[n.Name]
		if !ok || n.Op == OpCall {
			x = p.unset(n)
		}
		return x
	case OpCompare:
		return p.chain(n)
	}
	args := make([]Term, len(n.Args))
	for i, a := range n.Args {
		args[i] = p.lower(a, truth || n.Op == OpNot || n.Op == OpBool || n.Op == OpIf && i == 0)
	}
	switch n.Op {
	case OpBool:
		return args[0]
	case OpNot:
		return p.not(n, args[0])
	case OpAnd, OpOr:
		return p.connect(n, n.Op, args)
	case OpIf:
		return p.conditional(n, args[0], args[1], args[2])
	}
	if len(args) == 1 {
		return p.compute(n, n.Op, args[0], args[0])
	}
	x := args[0]
	for _, b := range args[1:] {
		x = p.compute(n, n.Op, x, b)
	}
	return x
}

func (p *Program) truth(n *Node, x Term) Term {
	switch p.facts[x].kind {
	case KindBool:
		return x
	case KindInt, KindFloat:
		return p.compare(n, OpNe, x, p.Int(0))
	}
	return p.make(n, OpBool, fact{}, x, x, 0)
}

func (p *Program) not(n *Node, x Term) Term {
	if p.facts[x].kind == KindBool {
		return p.Condition(OpEq, x, p.constant(Bool(false)))
	}
	return p.make(n, OpNot, fact{}, x, x, 0)
}

// connect adds the `and` or `or` of terms, which as in Python returns an operand: `a and b` is `b if a else a`.
func (p *Program) connect(n *Node, op Op, args []Term) Term {
	x := args[0]
	for _, b := range args[1:] {
		switch {
		case p.facts[x].kind == KindBool && p.facts[b].kind == KindBool:
			x = p.Condition(op, x, b)
		case op == OpAnd:
			x = p.conditional(n, x, b, x)
		default:
			x = p.conditional(n, x, x, b)
		}
	}
	return x
}

// conditional adds an `if`, which cannot fail only if neither the condition nor either side can fail, since a Program
// computes all three.
func (p *Program) conditional(n *Node, condition, a, b Term) Term {
	f := p.facts[a]
	switch {
	case p.Constant(condition) && p.Slots[condition].Truth():
		return a
	case p.Constant(condition):
		return b
	case p.facts[condition].kind != KindBool || f.kind != p.facts[b].kind:
		f.kind = KindNone
	}
	return p.make(n, OpIf, fact{kind: f.kind, Range: f.union(p.facts[b].Range)}, condition, a, b)
}

// chain adds a chained comparison such as a < b < c, which is the `and` of its links.
func (p *Program) chain(n *Node) Term {
	var links []Term
	left := p.lower(n.Args[0], false)
	for i, op := range n.Links {
		if op >= OpIn { // the last link of a chain, because no other operator takes a tuple
			links = append(links, p.member(n, left, n.Args[i+1], op))
			break
		}
		right := p.lower(n.Args[i+1], false)
		links = append(links, p.compare(n, op, left, right))
		left = right
	}
	return p.connect(n, OpAnd, links)
}

// member adds a term that tells whether a tuple contains x. As in Python, the test for membership evaluates every item
// of the tuple.
func (p *Program) member(n *Node, x Term, tuple *Node, op Op) Term {
	found := p.constant(Bool(false))
	for _, item := range tuple.Args {
		same := p.compare(n, OpEq, x, p.lower(item, false))
		if p.facts[same].kind == KindBool && p.facts[found].kind == KindBool {
			found = p.Condition(OpOr, found, same)
		} else {
			found = p.make(n, opEither, fact{}, found, same, 0)
		}
	}
	if op == opNotIn {
		return p.not(n, found)
	}
	return found
}

// compare adds a term for one operator of a chained comparison, with the operands a and b. A comparison a > b that
// cannot fail is compiled as b < a.
func (p *Program) compare(n *Node, op Op, a, b Term) Term {
	f, g := &p.facts[a], &p.facts[b]
	switch {
	case f.kind == KindNone || g.kind == KindNone:
		return p.make(n, op, fact{}, a, b, 0)
	case f.kind != g.kind && (f.kind == KindString || g.kind == KindString):
		if op > OpNe {
			return p.make(n, op, fact{}, a, b, 0)
		}
		return p.constant(Bool(op == OpNe))
	case op == opGt || op == opGe:
		a, b, f, g, op = b, a, g, f, op-2
	}
	if f.kind != KindString {
		if v, known := decided(op, f.Range, g.Range); known {
			return p.constant(Bool(v))
		}
	}
	return p.Condition(op, a, b)
}

// decided tells whether the bounds of a and b alone decide a comparison, and what the result is.
func decided(op Op, a, b Range) (value, known bool) {
	switch op {
	case OpEq, OpNe:
		return op == OpNe, a.Hi < b.Lo || b.Hi < a.Lo
	case OpLt:
		return a.Hi < b.Lo, a.Hi < b.Lo || a.Lo >= b.Hi
	}
	return a.Hi <= b.Lo, a.Hi <= b.Lo || a.Lo > b.Hi
}

// compute adds a term for an operation on numbers; if the operation has only one operand, the caller passes it as both
// a and b.
func (p *Program) compute(n *Node, op Op, a, b Term) Term {
	row, f, g := &operators[op], &p.facts[a], &p.facts[b]
	harmless := f.kind != KindNone && f.kind != KindString && g.kind != KindNone && g.kind != KindString
	if !harmless || row.bounds == nil || row.divides && g.has(0) {
		return p.make(n, op, fact{}, a, b, 0)
	}
	operands := KindInt
	if f.kind == KindFloat || g.kind == KindFloat {
		operands = KindFloat
	}
	result := fact{kind: row.kind, Range: row.bounds(operands, f.Range, g.Range)}
	switch {
	case result.kind == KindNone:
		result.kind = operands
	case result.kind == f.kind && row.most > 0: // int() of an int
		return a
	}
	if op == OpMin || op == OpMax { // among floats, the order of operands matters for NaN
		if result.kind = f.kind; f.kind != g.kind || f.kind == KindFloat {
			result.kind = KindNone
		}
	}
	if !result.harmless() {
		result.kind = KindNone
	}
	return p.make(n, op, result, a, b, 0)
}

// Condition adds a term for a comparison, an `and` or an `or` of a and b that cannot fail.
func (p *Program) Condition(op Op, a, b Term) Term {
	return p.make(nil, op, fact{kind: KindBool, Range: Range{0, 1}}, a, b, 0)
}

// Number adds a term for a sum, a difference or a product of ints that cannot overflow.
func (p *Program) Number(op Op, a, b Term) Term {
	neutral := p.Int(0)
	if op == OpMul {
		neutral = p.Int(1)
	}
	switch {
	case neutral == b:
		return a
	case neutral == a && op != OpSub:
		return b
	}
	return p.make(nil, op, fact{kind: KindInt}, a, b, 0)
}

// make returns the term that computes an operation on the terms a, b and c. Two equal operations share a term if they
// cannot fail; an operation that may fail gets a term of its own, whose error can name its node.
func (p *Program) make(n *Node, op Op, f fact, a, b, c Term) Term {
	in := instruction{op: op, a: a, b: b, c: c}
	if p.Constant(a) && p.Constant(b) && (c == 0 || p.Constant(c)) {
		if v := apply(op, &p.Slots[a], &p.Slots[b], &p.Slots[c]); v.kind != KindNone {
			return p.constant(v)
		}
	}
	if f.kind == KindNone {
		return p.add(in, fact{node: n})
	}
	whole := func(x Term) bool { return p.facts[x].kind == KindInt || p.facts[x].kind == KindBool }
	switch {
	case f.kind == KindString || p.facts[b].kind == KindString: // `if` and comparisons of strings
	case op == OpIf || whole(a) && whole(b) && f.kind != KindFloat:
		in.op |= onWords
	default:
		in.op |= onFloats
	}
	x, ok := p.made[in]
	if !ok {
		x = p.add(in, f)
		p.made[in] = x
	}
	return x
}

func (p *Program) Constant(x Term) bool { return p.code[x].op == OpConst }
func (p *Program) Kind(x Term) Kind     { return p.facts[x].kind }
func (p *Program) Range(x Term) Range   { return p.facts[x].Range }

// Operation returns the operation that computes x and its operands. Operation returns a and b equal if the operation
// has one operand; a name or a constant has none.
func (p *Program) Operation(x Term) (op Op, a, b, c Term) {
	in := &p.code[x]
	return in.op &^ (onWords | onFloats), in.a, in.b, in.c
}

// Code is a part of a program: the instructions that compute some terms from terms that are already known.
type Code struct {
	program    *Program
	once, each []instruction
	seen       map[Term]bool
}

// Compile appends the instructions that compute x. Compile puts the instruction of a term into the part that Once
// runs if early(term) is true, otherwise into the part that Each runs.
func (c *Code) Compile(x Term, early func(Term) bool) {
	in := c.program.code[x]
	if c.seen[x] || in.a == 0 {
		return
	}
	c.seen[x] = true
	c.Compile(in.a, early)
	c.Compile(in.b, early)
	c.Compile(in.c, early)
	if early(x) {
		c.once = append(c.once, in)
	} else {
		c.each = append(c.each, in)
	}
}

// Code returns an empty Code, into which terms can be compiled; the caller sets the slots of the given terms before it
// runs the Code.
func (p *Program) Code(given ...Term) *Code {
	c := &Code{program: p, seen: map[Term]bool{}}
	for _, x := range given {
		c.seen[x] = true
	}
	return c
}

// Require compiles x and makes the code stop if x is false. The instructions after the condition x run if x is true
// or if the evaluation of x fails.
func (c *Code) Require(x Term, early func(Term) bool) {
	if in := c.program.code[x]; in.op == OpAnd|onWords && !c.seen[x] {
		c.Require(in.a, early)
		c.Require(in.b, early)
		return
	}
	c.Compile(x, early)
	for _, code := range [][]instruction{c.each, c.once} {
		for i := range code {
			if code[i].to == x {
				code[i].must = true
				return
			}
		}
	}
	c.each = append(c.each, instruction{op: OpBool, must: true, a: x, b: x}) // x is one of the given terms
}

// Once computes the terms that keep their values between calls of Each, and returns false if a term that Require made a
// condition is false.
func (c *Code) Once() bool { return c.program.Slots.run(c.once, c.program.facts) }

func (c *Code) Each() bool { return c.program.Slots.run(c.each, c.program.facts) }

// Slots contains the values of the terms of a program.
type Slots []Value

func (slots Slots) Set(x Term, word uint64) { slots[x].bits = word }
func (slots Slots) Word(x Term) uint64      { return slots[x].bits }
func (slots Slots) Holds(x Term) bool       { return slots[x].Truth() }
func (slots Slots) Failed(x Term) bool      { return slots[x].kind == KindNone }

func (slots Slots) run(code []instruction, facts []fact) bool {
	for i := range code {
		in := &code[i]
		a, b := slots[in.a].bits, slots[in.b].bits
		var w uint64
		switch in.op {
		case OpAdd | onWords: // the most common operations run without a function call
			w = a + b
		case OpSub | onWords:
			w = a - b
		case OpMul | onWords:
			w = a * b
		case OpAnd | onWords:
			w = a & b
		case OpOr | onWords:
			w = a | b
		case OpIf | onWords:
			if w = b; a == 0 {
				w = slots[in.c].bits
			}
		case OpEq | onWords:
			w = Bool(a == b).bits
		case OpNe | onWords:
			w = Bool(a != b).bits
		case OpLt | onWords:
			w = Bool(int64(a) < int64(b)).bits
		case OpLe | onWords:
			w = Bool(int64(a) <= int64(b)).bits
		default:
			switch {
			case in.op&onWords != 0:
				whole, _ := operators[in.op&^onWords].ints(int64(a), int64(b))
				w = uint64(whole)
			case in.op&onFloats != 0:
				w = floats(in.op&^onFloats, &slots[in.a], &slots[in.b], slots[in.to].kind)
			case slots.general(in, facts):
				continue
			default:
				return false
			}
		}
		if in.must && w == 0 {
			return false
		}
		slots[in.to].bits = w
	}
	return true
}

// floats computes an operation on floats that cannot fail.
func floats(op Op, a, b *Value, kind Kind) uint64 {
	x, _ := a.AsFloat()
	y, _ := b.AsFloat()
	switch op {
	case OpEq:
		return Bool(x == y).bits
	case OpNe:
		return Bool(x != y).bits
	case OpLt:
		return Bool(x < y).bits
	case OpLe:
		return Bool(x <= y).bits
	}
	f := operators[op].floats(x, y)
	if kind == KindInt {
		return uint64(int64(f))
	}
	return math.Float64bits(f)
}

// general runs an instruction on values of any kind; it returns false if the result had to be true and is not.
func (slots Slots) general(in *instruction, facts []fact) bool {
	v := &slots[in.to]
	if in.op == opPick {
		*v = facts[in.to].table[slots[in.a].bits]
	} else {
		*v = apply(in.op, &slots[in.a], &slots[in.b], &slots[in.c])
	}
	if v.kind == KindNone && v.bits == 0 {
		v.bits = uint64(in.to) // the term that failed
	}
	return !in.must || v.kind == KindNone || v.Truth()
}
