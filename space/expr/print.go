package expr

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"autotune/internal/lists"
	"autotune/internal/quote"
)

// Dialect says how a language writes expressions: it is a table of operators, functions and literals. An operation
// without an entry in a Dialect cannot be written in the dialect's language.
type Dialect struct {
	Forms       map[Op]Form
	Comparisons Op // the last comparison operator that the language has
	Constant    func(Value) (string, error)
	Name        func(name string) string // how a name is written; nil: unchanged
	Deepest     int                      // how deeply operations may be nested; 0: as deeply as the parser allows
}

// Form is how a dialect writes an operation.
type Form struct {
	Text     string // "%s + %s"; for a function its name, which is followed by all operands
	Binds    int    // how tightly it binds its operands
	Operands []int  // how tightly each operand must bind to need no parentheses; nil: a function
}

// The constants from bindsIf to bindsNothing are precedences, which all dialects share: `if` binds least tightly, and
// bindsNothing is for operands that never need parentheses.
const (
	bindsIf = iota
	bindsOr
	bindsAnd
	bindsNot
	bindsCompare
	bindsSum
	bindsProduct
	bindsSign
	bindsPower
	bindsNothing
)

// call is the form of a function that is written with all operands in one call.
func call(name string) Form { return Form{Text: name, Binds: bindsNothing} }

// pairs is the form of a function of two operands, which combines more operands from the left: f(f(a, b), c).
func pairs(text string) Form { return Form{text, bindsNothing, []int{bindsIf, bindsIf}} }

// between returns the form in which a dialect writes a left-associative binary operator: the symbol between the two
// operands.
func between(symbol string, binds int) Form {
	return Form{"%s " + symbol + " %s", binds, []int{binds, binds + 1}}
}

// unwritten is the form of an operation that a language expresses by its operand alone, such as a unary plus.
var unwritten = Form{Text: "%s"}

func before(symbol string, binds int) Form { return Form{symbol + "%s", binds, []int{binds}} }

// source is the Dialect in which op.yaml writes expressions.
var source = Dialect{
	Forms: map[Op]Form{
		OpIf: {"%[2]s if %[1]s else %[3]s", bindsIf, []int{bindsOr, bindsOr, bindsIf}}, OpOr: between("or", bindsOr),
		OpAnd: between("and", bindsAnd), OpNot: before("not ", bindsNot), OpAdd: between("+", bindsSum),
		OpSub: between("-", bindsSum), OpMul: between("*", bindsProduct), OpDiv: between("/", bindsProduct),
		OpFloorDiv: between("//", bindsProduct), OpMod: between("%%", bindsProduct), OpNeg: before("-", bindsSign),
		OpPlus: before("+", bindsSign), OpPow: {"%s ** %s", bindsPower, []int{bindsNothing, bindsSign}},
		OpAbs: call("abs"), OpBool: call("bool"), OpCeilDiv: call("ceil_div"), OpFloat: call("float"),
		OpGcd: call("gcd"), OpInt: call("int"), OpMax: call("max"), OpMin: call("min"),
		OpRound: call("round"), OpCall: call(""), OpTuple: call(""),
	},
	Comparisons: opNotIn,
	Constant:    func(v Value) (string, error) { return v.Source(), nil },
}

// Methods returns the dialect of op.yaml, which is also Python, with functions as methods of an object.
func Methods(object string) Dialect {
	return source.with(map[Op]Form{OpCall: call(object + ".")})
}

// with returns a copy of the dialect in which some operations are written in other forms.
func (d Dialect) with(forms map[Op]Form) Dialect {
	all := map[Op]Form{}
	for op, form := range d.Forms {
		all[op] = form
	}
	for op, form := range forms {
		all[op] = form
	}
	d.Forms = all
	return d
}

// Python is the dialect of Python expressions in a pack, where names are items of the dictionary v. The pack's function
// power refuses powers that would take too long to compute.
var Python = func() Dialect {
	d := source.with(map[Op]Form{OpPow: pairs("power(%s, %s)")})
	d.Constant = func(v Value) (string, error) {
		if v.Kind() == KindString {
			return quote.Python(v.text), nil
		}
		return v.Source(), nil
	}
	d.Name = func(name string) string { return "v[" + quote.Python(name) + "]" }
	d.Deepest = 90 // Python refuses 200 nested parentheses
	return d
}()

// CPP is the dialect of C++ in which all numbers are floats; it can write arithmetic, comparisons and calls.
var CPP = Dialect{
	Forms: map[Op]Form{
		OpAdd: between("+", bindsSum), OpSub: between("-", bindsSum), OpMul: between("*", bindsProduct), OpDiv: between("/", bindsProduct),
		OpNeg:  {"-1.0f * %s", bindsProduct, []int{bindsProduct + 1}}, // -(-x) would be --x
		OpPlus: unwritten, OpCall: call(""),
	},
	Comparisons: opGe,
	Constant: func(v Value) (string, error) {
		x, _ := v.AsFloat()
		text := strconv.FormatFloat(x, 'g', -1, 32)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return text + "f", nil
	},
}

// Print writes an expression in a dialect, with as few parentheses as possible, or returns an error if the dialect
// cannot write an operation.
func (d Dialect) Print(n *Node) (string, error) {
	p := printer{Dialect: d}
	text, _ := p.node(n, 0)
	return text, p.err
}

// Source writes n as an expression that Parse reads back, for example after a Folder has changed the tree.
func (n *Node) Source() string {
	text, _ := source.Print(n)
	return text
}

type printer struct {
	Dialect
	err error
}

// within writes an operand, and encloses it in parentheses if the operand's operation has a precedence below `least`.
func (p *printer) within(n *Node, least, depth int) string {
	text, binds := p.node(n, depth)
	if binds < least {
		return "(" + text + ")"
	}
	return text
}

// node returns the text of the expression n and the precedence of its outermost operation.
func (p *printer) node(n *Node, depth int) (text string, binds int) {
	if p.Deepest > 0 && depth >= p.Deepest {
		p.fail(fmt.Errorf("a formula is nested or chained more than %d deep", p.Deepest))
	}
	if p.err != nil {
		return "", bindsNothing
	}
	switch n.Op {
	case OpConst:
		text, err := p.Constant(n.Value)
		p.fail(err)
		if strings.HasPrefix(text, "-") {
			return text, bindsSign
		}
		return text, bindsNothing
	case OpName:
		if p.Name != nil {
			return p.Name(n.Name), bindsNothing
		}
		return n.Name, bindsNothing
	case OpCompare:
		return p.comparison(n, depth+1)
	}
	form, known := p.Forms[n.Op]
	switch {
	case !known:
		p.fail(fmt.Errorf("it computes %s", cmp.Or(n.Op.String(), "a list")))
	case form.Text == unwritten.Text, len(form.Operands) == 2 && len(n.Args) == 1: // such as max(a)
		return p.node(n.Args[0], depth+1)
	}
	return p.operation(n, form, depth+1), form.Binds
}

func (p *printer) operation(n *Node, form Form, depth int) string {
	operands := make([]any, len(n.Args))
	for i, a := range n.Args {
		least := bindsIf
		if form.Operands != nil {
			least = form.Operands[min(i, len(form.Operands)-1)]
		}
		operands[i] = p.within(a, least, depth)
	}
	switch {
	case form.Operands == nil:
		behindOne := ""
		if n.Op == OpTuple && len(operands) == 1 {
			behindOne = ","
		}
		return form.Text + n.Name + "(" + strings.Join(lists.Of(operands, func(o any) string { return o.(string) }), ", ") + behindOne + ")"
	case len(form.Operands) == 2: // more than two operands are combined from the left
		text := operands[0]
		for _, o := range operands[1:] {
			text = fmt.Sprintf(form.Text, text, o)
		}
		return text.(string)
	}
	return fmt.Sprintf(form.Text, operands...)
}

func (p *printer) comparison(n *Node, depth int) (string, int) {
	text := p.within(n.Args[0], bindsSum, depth)
	for i, c := range n.Links {
		if c > p.Comparisons {
			p.fail(fmt.Errorf("it compares by %s", c))
			break
		}
		text += " " + c.String() + " " + p.within(n.Args[i+1], bindsSum, depth)
	}
	return text, bindsCompare
}

func (p *printer) fail(err error) { p.err = cmp.Or(p.err, err) }
