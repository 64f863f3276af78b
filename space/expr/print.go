package expr

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"autotune/internal/lists"
	"autotune/internal/quote"
)

// Dialect says how a language writes expressions: it is a table of the language's operators, functions and literals. An
// operation that a dialect lacks has no form in the language.
type Dialect struct {
	Forms       map[Op]Form
	Comparisons Op // the last that it has
	Constant    func(Value) (string, error)
	Name        func(name string) string // nil: as it is
	Deepest     int                      // how deep operations may lie in each other; 0: as deep as the parser allows
}

// Form is how a dialect writes an operation.
type Form struct {
	Text     string // "%s + %s"; of a function its name, behind which all operands stand
	Binds    int    // how tightly it binds its operands
	Operands []int  // how tightly each operand must bind to stand without parentheses; nil: it is a function
}

// How tightly operations bind in all the dialects, from `if` to what never needs parentheses.
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

// call is the form of a function that takes all operands at once.
func call(name string) Form { return Form{Text: name, Binds: bindsNothing} }

// pairs is the form of a function that takes two operands and perhaps something else. More operands are combined
// from the left: f(f(a, b), c).
func pairs(text string) Form { return Form{text, bindsNothing, []int{bindsIf, bindsIf}} }

// between is the form of an operator that groups from the left.
func between(symbol string, binds int) Form {
	return Form{"%s " + symbol + " %s", binds, []int{binds, binds + 1}}
}

// unwritten is the form of an operation that a language need not write.
var unwritten = Form{Text: "%s"}

func before(symbol string, binds int) Form { return Form{symbol + "%s", binds, []int{binds}} }

// source is the language of op.yaml.
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

// Methods is the language of op.yaml, and so Python, where functions are an object's.
func Methods(object string) Dialect {
	return source.with(map[Op]Form{OpCall: call(object + ".")})
}

// with is the dialect with other forms for some operations.
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

// Python is Python where a name is an item of v. A pack has the function power, which refuses what would take long.
var Python = func() Dialect {
	d := source.with(map[Op]Form{OpPow: pairs("power(%s, %s)")})
	d.Constant = func(v Value) (string, error) {
		if v.Kind() == KindString {
			return quote.Python(v.text), nil
		}
		return v.Source(), nil
	}
	d.Name = func(name string) string { return "v[" + quote.Python(name) + "]" }
	d.Deepest = 90 // Python refuses 200 parentheses within each other
	return d
}()

// CPP is C++ with floats alone, for arithmetic, comparisons and calls.
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

// Print writes an expression in a dialect, with no more parentheses than it needs. The error says what has no form there.
func (d Dialect) Print(n *Node) (string, error) {
	p := printer{Dialect: d}
	text, _ := p.node(n, 0)
	return text, p.err
}

// Source writes n as an expression that Parse reads. It is for trees that a Folder made, which no text has.
func (n *Node) Source() string {
	text, _ := source.Print(n)
	return text
}

type printer struct {
	Dialect
	err error
}

// within writes an operand of something that binds so tightly.
func (p *printer) within(n *Node, least, depth int) string {
	text, binds := p.node(n, depth)
	if binds < least {
		return "(" + text + ")"
	}
	return text
}

// node gives the text and how tightly its outermost operation binds.
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
	case form.Text == unwritten.Text, len(form.Operands) == 2 && len(n.Args) == 1: // as max(a)
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
	case len(form.Operands) == 2: // of more, the first are one operand
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
