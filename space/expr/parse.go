package expr

import (
	"maps"
	"slices"
	"strings"
)

// The parser's limits keep hostile input from overflowing the stack.
const (
	maxDepth  = 200
	maxSource = 1 << 16
)

// Parse reads an expression. The error of Parse is a *SyntaxError.
func Parse(src string) (*Expr, error) {
	root, err := ParseCalls(src, nil)
	if err != nil {
		return nil, err
	}
	return New(root), nil
}

// MustParse is like Parse, for expressions in the source of a program; it panics instead of returning an error.
func MustParse(src string) *Expr {
	e, err := Parse(src)
	if err != nil {
		panic(err)
	}
	return e
}

// Arity holds the least and the largest number of arguments that a function accepts.
type Arity struct {
	Least int `json:"least"`
	Most  int `json:"most"`
}

// ParseCalls reads an expression that may call the given functions instead of Parse's own. Dialects can write the
// expressions that ParseCalls reads, but nothing can evaluate them. A name may be followed by names in brackets, as in
// b[m,n]. The error of ParseCalls is a *SyntaxError.
func ParseCalls(src string, functions map[string]Arity) (*Node, error) {
	return (&parser{lexer: lexer{source: src, column: 1}, calls: functions}).whole()
}

func (p *parser) whole() (root *Node, err error) {
	defer catch(&err)
	if len(p.source) > maxSource {
		p.fail(1, "longer than %d characters", maxSource)
	}
	if p.shift(); p.tok.kind == tokEnd {
		p.fail(1, "the expression is empty: write at least a number or a name")
	}
	root = p.nested(1, bindsIf)
	switch {
	case p.tok.kind == tokEnd:
	case p.is(")") || p.is("]"):
		p.fail(p.tok.column, "'%s' closes nothing: remove it", p.tok.text)
	case p.is(","):
		p.fail(p.tok.column, "a tuple needs parentheses and stands on the right of 'in'")
	default:
		p.fail(p.tok.column, "expected an operator or the end, found %s", p.tok)
	}
	p.settle(root, false)
	return root, nil
}

// parser parses by precedence climbing: the right operand of an operator consists of everything that binds more
// tightly. A syntax error makes the parser panic (see fail).
type parser struct {
	lexer
	tok   token
	depth int
	calls map[string]Arity // functions to use instead of its own; nil: its own
}

// infix lists the left-associative binary operators.
var infix = map[string]struct {
	op    Op
	binds int
}{
	"or": {OpOr, bindsOr}, "and": {OpAnd, bindsAnd}, "+": {OpAdd, bindsSum}, "-": {OpSub, bindsSum},
	"*": {OpMul, bindsProduct}, "/": {OpDiv, bindsProduct}, "//": {OpFloorDiv, bindsProduct}, "%": {OpMod, bindsProduct},
}

// prefix lists the operators that precede their operand.
var prefix = map[string]struct {
	op    Op
	binds int
}{"not": {OpNot, bindsNot}, "-": {OpNeg, bindsSign}, "+": {OpPlus, bindsSign}}

// shift moves on to the next token and returns the previous token.
func (p *parser) shift() token {
	t := p.tok
	p.tok = p.next()
	return t
}

func (p *parser) is(s string) bool { return p.tok.kind == tokSymbol && p.tok.text == s }

// expect skips the symbol s, and fails if the next token is another one.
func (p *parser) expect(s, why string) {
	if !p.is(s) {
		p.fail(p.tok.column, "expected '%s' %s, found %s", s, why, p.tok)
	}
	p.shift()
}

// nested parses an expression, and fails if expressions are nested too deeply.
func (p *parser) nested(column, least int) *Node {
	if p.depth++; p.depth > maxDepth {
		p.fail(column, "nested more than %d deep", maxDepth)
	}
	n := p.expression(least)
	p.depth--
	return n
}

// expression parses an operand and all following operators whose precedence is at least `least`.
func (p *parser) expression(least int) *Node {
	left := p.operand(least)
	for p.tok.kind == tokSymbol {
		column := p.tok.column
		in, ok := infix[p.tok.text]
		switch {
		case ok && in.binds >= least:
			p.shift()
			left = &Node{Op: in.op, Column: column, Args: []*Node{left, p.expression(in.binds + 1)}}
		case p.is("**"): // ** binds tighter than a sign on its left and looser than a sign on its right
			p.shift()
			left = &Node{Op: OpPow, Column: column, Args: []*Node{left, p.nested(column, bindsSign)}}
		case least <= bindsCompare && p.atComparison():
			left = p.comparison(left)
		case p.is("if") && least <= bindsIf:
			p.shift()
			condition := p.expression(bindsOr)
			p.expect("else", "with the other value")
			return &Node{Op: OpIf, Column: column, Args: []*Node{condition, left, p.nested(column, bindsIf)}}
		default:
			return left
		}
	}
	return left
}

// comparison parses the remaining operators and operands of a chain of comparisons, such as a < b < c.
func (p *parser) comparison(first *Node) *Node {
	node := &Node{Op: OpCompare, Column: p.tok.column, Args: []*Node{first}}
	for p.atComparison() {
		op, _ := comparison(p.tok.text)
		if p.is("not") {
			p.shift()
			if op = opNotIn; !p.is("in") {
				p.expect("in", "after 'not' in a comparison")
			}
		}
		p.shift()
		node.Links = append(node.Links, op)
		node.Args = append(node.Args, p.expression(bindsSum))
	}
	return node
}

func (p *parser) atComparison() bool {
	_, compares := comparison(p.tok.text)
	return p.tok.kind == tokSymbol && (compares || p.is("not"))
}

// operand parses an operand, with its prefix operators.
func (p *parser) operand(least int) *Node {
	t := p.tok
	before, isPrefix := prefix[t.text]
	switch {
	case t.kind == tokNumber:
		p.shift()
		return &Node{Op: OpConst, Column: t.column, Value: t.value}
	case t.kind == tokString:
		p.shift()
		return &Node{Op: OpConst, Column: t.column, Value: String(t.text)}
	case t.kind == tokName:
		return p.name()
	case isPrefix && least <= before.binds:
		p.shift()
		return &Node{Op: before.op, Column: t.column, Args: []*Node{p.nested(t.column, before.binds)}}
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

// refused lists words that are not allowed as names, each with what to write instead.
var refused = map[string]string{"None": "write False or 0", "is": "write '=='", "lambda": "functions cannot be defined",
	"for": "comprehensions are not known", "true": "write True", "false": "write False"}

func (p *parser) name() *Node {
	t := p.shift()
	switch {
	case p.is("("):
		return p.call(t)
	case p.calls != nil && p.is("["):
		return p.item(t)
	case t.text == "True" || t.text == "False":
		return &Node{Op: OpConst, Column: t.column, Value: Bool(t.text == "True")}
	}
	if why, ok := refused[t.text]; ok {
		p.fail(t.column, "'%s' is no name: %s", t.text, why)
	}
	return &Node{Op: OpName, Column: t.column, Name: t.text}
}

// item parses the brackets behind a name, which become part of that name: `b[m, n]` is named "b[m,n]".
func (p *parser) item(name token) *Node {
	var within []string
	for p.shift(); p.tok.kind == tokName; p.shift() {
		if within = append(within, p.shift().text); !p.is(",") {
			break
		}
	}
	p.expect("]", "or a name within the brackets")
	return &Node{Op: OpName, Column: name.column, Name: name.text + "[" + strings.Join(within, ",") + "]"}
}

// arguments parses the content of parentheses or brackets up to the symbol `end`; comma says whether the content
// included a comma.
func (p *parser) arguments(end string) (args []*Node, comma bool) {
	p.shift()
	for !p.is(end) {
		args = append(args, p.nested(p.tok.column, bindsIf))
		if !p.is(",") {
			break
		}
		comma = true
		p.shift()
	}
	p.expect(end, "or an operator")
	return args, comma
}

func known[F any](functions map[string]F) []string { return slices.Sorted(maps.Keys(functions)) }

func (p *parser) call(name token) *Node {
	op, ok := functions[name.text]
	arity := Arity{operators[op].least, operators[op].most}
	made := &Node{Op: op, Column: name.column}
	there := known(functions)
	switch {
	case p.calls != nil:
		arity, ok = p.calls[name.text]
		there = known(p.calls)
		made.Op, made.Name = OpCall, name.text
	case p.open && !ok:
		arity, ok = Arity{0, 1 << 10}, true
		made.Op, made.Name = OpCall, name.text
	case p.open && (op == OpMin || op == OpMax):
		arity.Least = 1
	}
	if !ok {
		p.fail(name.column, "unknown function '%s': there are %s", name.text, strings.Join(there, ", "))
	}
	made.Args, _ = p.arguments(")")
	switch {
	case len(made.Args) < arity.Least:
		p.fail(name.column, "%s() takes at least %d arguments, not %d", name.text, arity.Least, len(made.Args))
	case len(made.Args) > arity.Most:
		p.fail(name.column, "%s() takes at most %d arguments, not %d", name.text, arity.Most, len(made.Args))
	}
	return made
}

// settle sets the source text of all nodes. settle accepts a tuple or list only as the last operand of `in` and `not
// in`, and accepts nothing else in that place.
func (p *parser) settle(n *Node, behindIn bool) {
	switch {
	case n.Op == OpTuple && !behindIn:
		p.fail(n.Column, "a tuple or list stands only on the right of 'in' and 'not in'")
	case n.Op != OpTuple && behindIn:
		p.fail(n.Column, "'in' takes a tuple or a list, as in x in (1, 2)")
	}
	n.source = p.source
	for i, a := range n.Args {
		in := n.Op == OpCompare && i > 0 && n.Links[i-1] >= OpIn
		if in && i < len(n.Links) {
			p.fail(a.Column, "what stands on the right of 'in' ends a comparison; use 'and'")
		}
		p.settle(a, in)
	}
}
