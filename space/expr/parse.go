package expr

import (
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
	p := &parser{lexer: lexer{source: src, column: 1}}
	if len(src) > maxSource {
		return nil, p.errorf(1, "longer than %d characters", maxSource)
	}
	root, err := p.parse()
	if err != nil {
		return nil, err
	}
	return &Expr{source: src, root: root, names: root.Names()}, nil
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

// parser is a recursive-descent parser, one method a level of precedence.
type parser struct {
	lexer
	tok   token
	depth int
}

func (p *parser) parse() (*Node, error) {
	if err := p.shift(); err != nil {
		return nil, err
	}
	if p.tok.kind == tokEnd {
		return nil, p.errorf(1, "the expression is empty: write at least a number or a name")
	}
	root, err := p.conditional()
	if err != nil {
		return nil, err
	}
	if p.tok.kind != tokEnd {
		return nil, p.trailing()
	}
	if root.Op == OpTuple {
		return nil, p.errorf(root.Column, misplacedTuple)
	}
	return root, p.settle(root)
}

func (p *parser) trailing() error {
	switch {
	case p.tok.text == ")" || p.tok.text == "]":
		return p.errorf(p.tok.column, "'%s' closes nothing: remove it", p.tok.text)
	case p.tok.text == ",":
		return p.errorf(p.tok.column, "a tuple needs parentheses and stands on the right of 'in'")
	}
	return p.errorf(p.tok.column, "expected an operator or the end, found %s", p.tok)
}

// shift moves on to the next token.
func (p *parser) shift() (err error) {
	p.tok, err = p.next()
	return err
}

// is says whether the current token is the symbol s.
func (p *parser) is(s string) bool { return p.tok.kind == tokSymbol && p.tok.text == s }

// expect shifts over the symbol s.
func (p *parser) expect(s, why string) error {
	if !p.is(s) {
		return p.errorf(p.tok.column, "expected '%s' %s, found %s", s, why, p.tok)
	}
	return p.shift()
}

// enter guards a recursion; leave undoes it.
func (p *parser) enter() error {
	if p.depth++; p.depth > maxDepth {
		return p.errorf(p.tok.column, "nested more than %d deep", maxDepth)
	}
	return nil
}

func (p *parser) leave() { p.depth-- }

func (p *parser) conditional() (*Node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	value, err := p.disjunction()
	if err != nil || !p.is("if") {
		return value, err
	}
	column := p.tok.column
	if err := p.shift(); err != nil {
		return nil, err
	}
	condition, err := p.disjunction()
	if err != nil {
		return nil, err
	}
	if err := p.expect("else", "with the other value"); err != nil {
		return nil, err
	}
	other, err := p.conditional()
	if err != nil {
		return nil, err
	}
	return &Node{Op: OpIf, Column: column, Args: []*Node{condition, value, other}}, nil
}

func (p *parser) disjunction() (*Node, error) { return p.series("or", OpOr, p.conjunction) }
func (p *parser) conjunction() (*Node, error) { return p.series("and", OpAnd, p.negation) }

// series parses operands joined by a word into one node.
func (p *parser) series(word string, op Op, operand func() (*Node, error)) (*Node, error) {
	first, err := operand()
	if err != nil || !p.is(word) {
		return first, err
	}
	node := &Node{Op: op, Column: p.tok.column, Args: []*Node{first}}
	for p.is(word) {
		if err := p.shift(); err != nil {
			return nil, err
		}
		a, err := operand()
		if err != nil {
			return nil, err
		}
		node.Args = append(node.Args, a)
	}
	return node, nil
}

func (p *parser) negation() (*Node, error) {
	if !p.is("not") {
		return p.comparison()
	}
	return p.prefix(OpNot, p.negation)
}

// prefix parses the operand of the prefix operator at hand.
func (p *parser) prefix(op Op, operand func() (*Node, error)) (*Node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	column := p.tok.column
	if err := p.shift(); err != nil {
		return nil, err
	}
	a, err := operand()
	if err != nil {
		return nil, err
	}
	return &Node{Op: op, Column: column, Args: []*Node{a}}, nil
}

func (p *parser) comparison() (*Node, error) {
	first, err := p.sum()
	if err != nil {
		return nil, err
	}
	node := &Node{Op: OpCompare, Column: p.tok.column, Args: []*Node{first}}
	for {
		cmp, ok, err := p.comparator()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		a, err := p.sum()
		if err != nil {
			return nil, err
		}
		node.Cmps = append(node.Cmps, cmp)
		node.Args = append(node.Args, a)
	}
	if len(node.Cmps) == 0 {
		return first, nil
	}
	return node, nil
}

// comparator shifts over a comparison operator, if one stands here.
func (p *parser) comparator() (Cmp, bool, error) {
	if p.tok.kind != tokSymbol {
		return 0, false, nil
	}
	if p.is("not") {
		if err := p.shift(); err != nil {
			return 0, false, err
		}
		return CmpNotIn, true, p.expect("in", "after 'not' in a comparison")
	}
	i := slices.Index(cmpNames[:], p.tok.text)
	if i < 0 {
		return 0, false, nil
	}
	return Cmp(i), true, p.shift()
}

func (p *parser) sum() (*Node, error) {
	return p.leftToRight(p.product, map[string]Op{"+": OpAdd, "-": OpSub})
}

func (p *parser) product() (*Node, error) {
	return p.leftToRight(p.unary, map[string]Op{"*": OpMul, "/": OpDiv, "//": OpFloorDiv, "%": OpMod})
}

func (p *parser) leftToRight(operand func() (*Node, error), ops map[string]Op) (*Node, error) {
	left, err := operand()
	if err != nil {
		return nil, err
	}
	for p.tok.kind == tokSymbol {
		op, ok := ops[p.tok.text]
		if !ok {
			break
		}
		column := p.tok.column
		if err := p.shift(); err != nil {
			return nil, err
		}
		right, err := operand()
		if err != nil {
			return nil, err
		}
		left = &Node{Op: op, Column: column, Args: []*Node{left, right}}
	}
	return left, nil
}

func (p *parser) unary() (*Node, error) {
	switch {
	case p.is("-"):
		return p.prefix(OpNeg, p.unary)
	case p.is("+"):
		return p.prefix(OpPlus, p.unary)
	}
	return p.power()
}

// power binds tighter than a sign on its left, looser than one on its right.
func (p *parser) power() (*Node, error) {
	base, err := p.atom()
	if err != nil || !p.is("**") {
		return base, err
	}
	node, err := p.prefix(OpPow, p.unary)
	if err != nil {
		return nil, err
	}
	node.Args = []*Node{base, node.Args[0]}
	return node, nil
}

func (p *parser) atom() (*Node, error) {
	t := p.tok
	switch t.kind {
	case tokNumber:
		return &Node{Op: OpConst, Column: t.column, Value: t.value}, p.shift()
	case tokString:
		return &Node{Op: OpConst, Column: t.column, Value: String(t.text)}, p.shift()
	case tokName:
		return p.name()
	}
	switch {
	case p.is("("):
		return p.parenthesised()
	case p.is("["):
		return p.list()
	}
	return nil, p.errorf(t.column, "expected a number, a name or '(', found %s", t)
}

// refused are Python words that are no names and mean nothing here.
var refused = map[string]string{"None": "write False or 0", "is": "write '=='", "lambda": "functions cannot be defined",
	"for": "comprehensions are not known", "true": "write True", "false": "write False"}

func (p *parser) name() (*Node, error) {
	t := p.tok
	if err := p.shift(); err != nil {
		return nil, err
	}
	if p.is("(") {
		return p.call(t)
	}
	switch t.text {
	case "True", "False":
		return &Node{Op: OpConst, Column: t.column, Value: Bool(t.text == "True")}, nil
	}
	if why, ok := refused[t.text]; ok {
		return nil, p.errorf(t.column, "'%s' is no name: %s", t.text, why)
	}
	return &Node{Op: OpName, Column: t.column, Name: t.text}, nil
}

// parenthesised parses (a), or a tuple: (), (a,) and (a, b).
func (p *parser) parenthesised() (*Node, error) {
	column := p.tok.column
	args, comma, err := p.arguments(")")
	if err != nil {
		return nil, err
	}
	if len(args) == 1 && !comma {
		return args[0], nil
	}
	return &Node{Op: OpTuple, Column: column, Args: args}, nil
}

func (p *parser) list() (*Node, error) {
	column := p.tok.column
	args, _, err := p.arguments("]")
	return &Node{Op: OpTuple, Column: column, Args: args}, err
}

// arguments parses a bracket's content up to its end; comma says whether a
// comma stood in it.
func (p *parser) arguments(end string) (args []*Node, comma bool, err error) {
	if err := p.shift(); err != nil {
		return nil, false, err
	}
	for !p.is(end) {
		a, err := p.conditional()
		if err != nil {
			return nil, false, err
		}
		args = append(args, a)
		if !p.is(",") {
			break
		}
		comma = true
		if err := p.shift(); err != nil {
			return nil, false, err
		}
	}
	return args, comma, p.expect(end, "or an operator")
}

// arities lists the functions and how many arguments they take.
var arities = map[string][2]int{"abs": {1, 1}, "bool": {1, 1}, "ceil_div": {2, 2}, "float": {1, 1},
	"int": {1, 1}, "max": {2, 1 << 10}, "min": {2, 1 << 10}, "round": {1, 2}}

func (p *parser) call(name token) (*Node, error) {
	arity, ok := arities[name.text]
	if !ok {
		known := make([]string, 0, len(arities))
		for f := range arities {
			known = append(known, f)
		}
		slices.Sort(known)
		return nil, p.errorf(name.column, "unknown function '%s': there are %s", name.text, strings.Join(known, ", "))
	}
	args, _, err := p.arguments(")")
	if err != nil {
		return nil, err
	}
	switch {
	case len(args) < arity[0]:
		return nil, p.errorf(name.column, "%s() takes at least %d arguments, not %d", name.text, arity[0], len(args))
	case len(args) > arity[1]:
		return nil, p.errorf(name.column, "%s() takes at most %d arguments, not %d", name.text, arity[1], len(args))
	}
	return &Node{Op: OpCall, Column: name.column, Name: name.text, Args: args}, nil
}

const misplacedTuple = "a tuple or list stands only on the right of 'in' and 'not in'"

// settle refuses tuples anywhere but as the last operand of `in`, and tells
// nodes which text they are part of.
func (p *parser) settle(n *Node) error {
	n.source = p.source
	for i, a := range n.Args {
		if err := p.settle(a); err != nil {
			return err
		}
		if a.Op == OpTuple && !(n.Op == OpCompare && i == len(n.Cmps) && n.Cmps[i-1] >= CmpIn) {
			return p.errorf(a.Column, misplacedTuple)
		}
	}
	return nil
}

// ParseList reads a list or tuple of constants, such as "[1, 2, 4]" or
// "(16, 32*2)"; a lone constant is a list of one. Its error is a *SyntaxError
// or, where computing an item fails, an *EvalError.
func ParseList(src string) ([]Value, error) {
	p := &parser{lexer: lexer{source: src, column: 1}}
	if err := p.shift(); err != nil {
		return nil, err
	}
	root, err := p.conditional()
	if err != nil {
		return nil, err
	}
	if p.tok.kind != tokEnd {
		return nil, p.trailing()
	}
	items := []*Node{root}
	if root.Op == OpTuple {
		items = root.Args
	}
	values := make([]Value, len(items))
	for i, item := range items {
		if err := p.settle(item); err != nil {
			return nil, err
		}
		var err error
		if values[i], err = item.Eval(nil); err != nil {
			return nil, err
		}
	}
	return values, nil
}
