package expr

import (
	"maps"
	"slices"
	"strings"
)

// Limits that keep hostile input from exhausting the stack.
const (
	maxDepth  = 200
	maxSource = 1 << 16
)

// Expr is a parsed expression. It is safe for concurrent use.
type Expr struct {
	source string
	root   *Node
	names  []string
}

// Parse reads an expression; its error is a *SyntaxError.
func Parse(src string) (*Expr, error) {
	root, err := ParseCalls(src, nil)
	if err != nil {
		return nil, err
	}
	return &Expr{source: src, root: root, names: root.Names()}, nil
}

// Arity is how many arguments a function takes.
type Arity struct {
	Least int `json:"least"`
	Most  int `json:"most"`
}

// ParseCalls reads an expression of the given functions in the place of Parse's. Such an expression is written
// by Source, in other languages too, and has no value. Its error is a *SyntaxError.
func ParseCalls(src string, functions map[string]Arity) (*Node, error) {
	return parse(src, func(p *parser) { p.calls = functions })
}

// parse reads an expression by a parser that is set for its kind.
func parse(src string, set func(*parser)) (root *Node, err error) {
	defer catch(&err)
	p := &parser{lexer: lexer{source: src, column: 1}}
	set(p)
	p.begin()
	if p.tok.kind == tokEnd {
		p.fail(1, "the expression is empty: write at least a number or a name")
	}
	root = p.whole()
	p.settle(root, false)
	return root, nil
}

// MustParse is Parse for expressions that are part of a program; it panics
// where Parse gives an error.
func MustParse(src string) *Expr {
	e, err := Parse(src)
	if err != nil {
		panic(err)
	}
	return e
}

// Substitute returns e with definitions in place of the names they define.
func (e *Expr) Substitute(definitions map[string]*Expr) *Expr {
	root := (&Folder{Definitions: definitions}).Fold(e.root)
	return &Expr{source: e.source, root: root, names: root.Names()}
}

// Column says where a name first stands in the source: 1-based, in characters.
// It is 0 for a name that does not occur.
func (e *Expr) Column(name string) int {
	column := 0
	for _, n := range e.root.nameNodes() {
		if n.Name == name && (column == 0 || n.Column < column) {
			column = n.Column
		}
	}
	return column
}

// Names returns the free names, sorted, without functions.
func (e *Expr) Names() []string { return slices.Clone(e.names) }

// String returns the source.
func (e *Expr) String() string { return e.source }

// Root returns the parsed tree.
func (e *Expr) Root() *Node { return e.root }

// parser is a recursive-descent parser, one method a level of precedence. A
// mistake makes it fail.
type parser struct {
	lexer
	tok   token
	depth int
	lists bool             // range, list and comprehensions are known
	made  int              // values of ranges
	calls map[string]Arity // functions in the place of its own; nil: its own
}

// newParser makes a parser that stands at the first token.
func newParser(src string) *parser {
	p := &parser{lexer: lexer{source: src, column: 1}}
	p.begin()
	return p
}

// begin moves to the first token.
func (p *parser) begin() {
	if len(p.source) > maxSource {
		p.fail(1, "longer than %d characters", maxSource)
	}
	p.shift()
}

// whole parses up to the end.
func (p *parser) whole() *Node {
	root := p.conditional()
	switch {
	case p.tok.kind == tokEnd:
	case p.is(")") || p.is("]"):
		p.fail(p.tok.column, "'%s' closes nothing: remove it", p.tok.text)
	case p.is(","):
		p.fail(p.tok.column, "a tuple needs parentheses and stands on the right of 'in'")
	default:
		p.fail(p.tok.column, "expected an operator or the end, found %s", p.tok)
	}
	return root
}

// shift moves on to the next token and returns the one at hand.
func (p *parser) shift() token {
	t := p.tok
	p.tok = p.next()
	return t
}

// is says whether the current token is the symbol s.
func (p *parser) is(s string) bool { return p.tok.kind == tokSymbol && p.tok.text == s }

// expect shifts over the symbol s.
func (p *parser) expect(s, why string) {
	if !p.is(s) {
		p.fail(p.tok.column, "expected '%s' %s, found %s", s, why, p.tok)
	}
	p.shift()
}

// enter guards a recursion; leave ends it.
func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.tok.column, "nested more than %d deep", maxDepth)
	}
}

func (p *parser) leave() { p.depth-- }

func (p *parser) conditional() *Node {
	p.enter()
	defer p.leave()
	value := p.disjunction()
	if !p.is("if") {
		return value
	}
	column := p.shift().column
	condition := p.disjunction()
	p.expect("else", "with the other value")
	return &Node{Op: OpIf, Column: column, Args: []*Node{condition, value, p.conditional()}}
}

func (p *parser) disjunction() *Node { return p.leftToRight(p.conjunction, "or") }
func (p *parser) conjunction() *Node { return p.leftToRight(p.negation, "and") }

func (p *parser) negation() *Node {
	if !p.is("not") {
		return p.comparison()
	}
	return p.prefix(OpNot, p.negation)
}

// prefix parses the operand of the prefix operator at hand.
func (p *parser) prefix(op Op, operand func() *Node) *Node {
	p.enter()
	defer p.leave()
	column := p.shift().column
	return &Node{Op: op, Column: column, Args: []*Node{operand()}}
}

func (p *parser) comparison() *Node {
	first := p.sum()
	node := &Node{Op: OpCompare, Column: p.tok.column, Args: []*Node{first}}
	for {
		cmp, ok := p.comparator()
		if !ok {
			break
		}
		node.Cmps = append(node.Cmps, cmp)
		node.Args = append(node.Args, p.sum())
	}
	if len(node.Cmps) == 0 {
		return first
	}
	return node
}

// comparator shifts over a comparison operator, if one stands here.
func (p *parser) comparator() (Cmp, bool) {
	if p.is("not") {
		p.shift()
		p.expect("in", "after 'not' in a comparison")
		return CmpNotIn, true
	}
	i := slices.Index(cmpNames[:], p.tok.text)
	if p.tok.kind != tokSymbol || i < 0 {
		return 0, false
	}
	p.shift()
	return Cmp(i), true
}

func (p *parser) sum() *Node     { return p.leftToRight(p.product, "+", "-") }
func (p *parser) product() *Node { return p.leftToRight(p.unary, "*", "/", "//", "%") }

// leftToRight parses operands that some operators of one precedence join.
func (p *parser) leftToRight(operand func() *Node, operators ...string) *Node {
	left := operand()
	for p.tok.kind == tokSymbol && slices.Contains(operators, p.tok.text) {
		t := p.shift()
		left = &Node{Op: Op(slices.Index(opNames[:], t.text)), Column: t.column, Args: []*Node{left, operand()}}
	}
	return left
}

func (p *parser) unary() *Node {
	switch {
	case p.is("-"):
		return p.prefix(OpNeg, p.unary)
	case p.is("+"):
		return p.prefix(OpPlus, p.unary)
	}
	return p.power()
}

// power binds tighter than a sign on its left, looser than one on its right.
func (p *parser) power() *Node {
	base := p.atom()
	if !p.is("**") {
		return base
	}
	node := p.prefix(OpPow, p.unary)
	node.Args = []*Node{base, node.Args[0]}
	return node
}

func (p *parser) atom() *Node {
	t := p.tok
	switch {
	case t.kind == tokNumber:
		p.shift()
		return &Node{Op: OpConst, Column: t.column, Value: t.value}
	case t.kind == tokString:
		p.shift()
		return &Node{Op: OpConst, Column: t.column, Value: String(t.text)}
	case t.kind == tokName:
		return p.name()
	case p.is("("): // (a), or a tuple: (), (a,) and (a, b)
		args, comma := p.arguments(")")
		if len(args) == 1 && !comma {
			return args[0]
		}
		return &Node{Op: OpTuple, Column: t.column, Args: args}
	case p.is("["):
		args, _ := p.arguments("]")
		return &Node{Op: OpTuple, Column: t.column, Args: args}
	}
	p.fail(t.column, "expected a number, a name or '(', found %s", t)
	return nil
}

// refused are Python words that are no names and mean nothing here.
var refused = map[string]string{"None": "write False or 0", "is": "write '=='", "lambda": "functions cannot be defined",
	"for": "comprehensions are not known", "true": "write True", "false": "write False"}

func (p *parser) name() *Node {
	t := p.shift()
	switch {
	case p.is("(") && p.lists && (t.text == "range" || t.text == "list"):
		return p.list(t)
	case p.is("("):
		return p.call(t)
	case t.text == "True" || t.text == "False":
		return &Node{Op: OpConst, Column: t.column, Value: Bool(t.text == "True")}
	}
	if why, ok := refused[t.text]; ok {
		p.fail(t.column, "'%s' is no name: %s", t.text, why)
	}
	return &Node{Op: OpName, Column: t.column, Name: t.text}
}

// arguments parses a bracket and its content; comma says whether a comma stood
// in it.
func (p *parser) arguments(end string) (args []*Node, comma bool) {
	p.shift()
	for !p.is(end) {
		args = append(args, p.conditional())
		if !p.is(",") {
			break
		}
		comma = true
		p.shift()
	}
	if p.lists && end == "]" && len(args) == 1 && p.tok.text == "for" {
		args = p.comprehension(args[0])
	}
	p.expect(end, "or an operator")
	return args, comma
}

// function is what a name before a parenthesis computes, of how many arguments.
type function struct {
	op          Op
	least, most int
}

var functions = map[string]function{"abs": {OpAbs, 1, 1}, "bool": {OpBool, 1, 1}, "ceil_div": {OpCeilDiv, 2, 2}, "float": {OpFloat, 1, 1},
	"gcd": {OpGcd, 2, 2}, "int": {OpInt, 1, 1}, "max": {OpMax, 2, 1 << 10}, "min": {OpMin, 2, 1 << 10}, "round": {OpRound, 1, 2}}

func known[F any](functions map[string]F) []string { return slices.Sorted(maps.Keys(functions)) }

func (p *parser) call(name token) *Node {
	f, ok := functions[name.text]
	there := known(functions)
	switch {
	case p.calls != nil:
		var of Arity
		of, ok = p.calls[name.text]
		f, there = function{OpCall, of.Least, of.Most}, known(p.calls)
	case p.open && !ok:
		f, ok = function{OpCall, 0, 1 << 10}, true
	case p.open && (f.op == OpMin || f.op == OpMax):
		f.least = 1
	}
	if !ok {
		p.fail(name.column, "unknown function '%s': there are %s", name.text, strings.Join(there, ", "))
	}
	made := &Node{Op: f.op, Column: name.column}
	if f.op == OpCall {
		made.Name = name.text
	}
	made.Args, _ = p.arguments(")")
	switch {
	case len(made.Args) < f.least:
		p.fail(name.column, "%s() takes at least %d arguments, not %d", name.text, f.least, len(made.Args))
	case len(made.Args) > f.most:
		p.fail(name.column, "%s() takes at most %d arguments, not %d", name.text, f.most, len(made.Args))
	}
	return made
}

// settle tells nodes which text they are part of, and refuses tuples anywhere
// but as the last operand of `in`.
func (p *parser) settle(n *Node, mayBeTuple bool) {
	if n.Op == OpTuple && !mayBeTuple {
		p.fail(n.Column, "a tuple or list stands only on the right of 'in' and 'not in'")
	}
	n.source = p.source
	for i, a := range n.Args {
		p.settle(a, n.Op == OpCompare && i == len(n.Cmps) && n.Cmps[i-1] >= CmpIn)
	}
}

// maxList is how many values all ranges of a list may have together.
const maxList = 500_000

// ParseList reads what is a list of constants in Python: "[1, 2, 4]", "(16, 32*2)",
// range(...), list(range(...)), "[EXPRESSION for NAME in range(...)]", or a sum of
// these. A lone constant is a list of one. Its error is a *SyntaxError or, where
// computing an item fails, an *EvalError.
func ParseList(src string) (values []Value, err error) {
	defer catch(&err)
	p := newParser(src)
	p.lists = true
	items, _ := listed(p.whole())
	values = make([]Value, len(items))
	for i, item := range items {
		p.settle(item, false)
		if values[i], err = item.Eval(nil); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// listed are the items of a list or of a sum of lists; of anything else it is the item.
func listed(n *Node) (items []*Node, isList bool) {
	switch n.Op {
	case OpTuple:
		return n.Args, true
	case OpAdd:
		left, isList := listed(n.Args[0])
		if right, too := listed(n.Args[1]); isList && too {
			return slices.Concat(left, right), true
		}
	}
	return []*Node{n}, false
}

// list makes the items of range(...) and list(...).
func (p *parser) list(name token) *Node {
	args, _ := p.arguments(")")
	made := &Node{Op: OpTuple, Column: name.column}
	if name.text == "list" {
		isList := false
		if len(args) == 1 {
			made.Args, isList = listed(args[0])
		}
		if !isList {
			p.fail(name.column, "list() takes one list or range")
		}
		return made
	}
	bounds := []int64{0, 0, 1} // start, stop, step
	for i, arg := range args {
		n, err := arg.Eval(nil)
		whole, ok := n.AsInt()
		if err != nil || !ok || i == len(bounds) || whole != int64(int32(whole)) {
			p.fail(name.column, "range() takes one to three whole numbers of 32 bits")
		}
		bounds[i] = whole
	}
	if len(args) == 1 {
		bounds[0], bounds[1] = 0, bounds[0]
	}
	if len(args) == 0 || bounds[2] == 0 {
		p.fail(name.column, "range() takes where to stop, and steps that are not 0")
	}
	for at, step := bounds[0], bounds[2]; step > 0 && at < bounds[1] || step < 0 && at > bounds[1]; at += step {
		if p.made++; p.made > maxList {
			p.fail(name.column, "it has more than %d values", maxList)
		}
		made.Args = append(made.Args, &Node{Op: OpConst, Column: name.column, Value: Int(at)})
	}
	return made
}

// comprehension makes the items of [ITEM for NAME in LIST], from `for` on.
func (p *parser) comprehension(item *Node) (items []*Node) {
	p.shift()
	name := p.shift()
	p.expect("in", "and a range")
	over, isList := listed(p.sum())
	if !isList {
		p.fail(name.column, "'%s' takes the values of a list or a range", name.text)
	}
	for _, of := range over {
		value, err := of.Eval(nil)
		if err != nil {
			p.fail(of.Column, "the values that '%s' takes must be constants", name.text)
		}
		items = append(items, (&Folder{Constants: map[string]Value{name.text: value}}).Fold(item))
	}
	return items
}
