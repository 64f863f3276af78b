package operator

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/operator/tree"
	"autotune/space/expr"
)

// language reads the formulas of an op.yaml. Two features keep formulas short: `$` stands for each of the operator's
// `axes`, and `let` names values and functions. `$` and `let` are expanded when a formula is read.
type language struct {
	o *Operator
	expr.Macros
	seen map[string]bool // the names in formulas that were read so far, of the operator or of a template
	*tree.Faults
}

// scope maps the names that an expression may use to descriptions such as "dimension" or "parameter".
type scope map[string]string

func (s scope) with(what string, names ...string) scope {
	s = maps.Clone(s)
	for _, name := range names {
		s[name] = what
	}
	return s
}

// reserved lists names that no parameter may have, because expressions or (in upper case) kernels already use them.
var reserved = append([]string{
	"math", "min", "max", "abs", "ceil_div", "gcd", "int", "float", "bool", "str", "round", "len",
	"and", "or", "not", "in", "is", "if", "else", "true", "false", "none", "lambda", "for",
	"null", "nan", "infinity",
}, limitNames...)

// IsReserved tells whether a name is not allowed for tunables and parameters.
func IsReserved(name string) bool {
	return slices.Contains(reserved, strings.ToLower(name)) || strings.HasPrefix(name, "__")
}

// declare adds a name to a scope. If names become upper-case macros, declare refuses names that differ only in case.
func (l *language) declare(s scope, where tree.Position, name, what string) {
	lower := strings.ToLower(name)
	if mode, ok := strings.CutPrefix(lower, "math_"); IsReserved(name) || ok && slices.Contains(l.o.MathModes, mode) {
		where.Refuse("the %s `%s` has a reserved name", what, name)
	}
	if _, named := l.Named[name]; named {
		where.Refuse("the %s `%s` has the name of a value of `let`", what, name)
	}
	for other, otherWhat := range s {
		if other == name {
			where.Refuse("the %s `%s` has the name of a %s", what, name, otherWhat)
		}
		if l.o.Macros != SameMacros && strings.EqualFold(other, name) {
			where.Refuse("the %s `%s` and the %s `%s` are one macro, %s", what, name, otherWhat, other, strings.ToUpper(name))
		}
	}
	s[name] = what
}

func (l *language) formula(n *tree.Node) Formula {
	text := n.Expression()
	f, open := l.expanded(syntax(text, n.Position, n.CutHint()), text, n.Axis, n.Position)
	if open {
		refuseOpen(n)
	}
	return f
}

func refuseOpen(n *tree.Node) {
	n.RefuseHint("all($ > 0), say, is of all of them",
		"`$` has no place here: it stands for each of `axes` in a list, a name's value or a function")
}

// syntax parses an expression whose text starts at the given place of op.yaml, without replacing the names of `let`.
func syntax(text string, where tree.Position, hint string) *expr.Node {
	root, err := expr.ParseOpen(text)
	var fault *expr.SyntaxError
	if errors.As(err, &fault) {
		where.Right(max(0, fault.Column-1)).RefuseHint(hint, "bad expression `%s`: %s", text, fault.Message)
		return zero.Root()
	}
	return root
}

// expanded returns the formula of an expression tree in which the names and functions of `let` are replaced. The result
// open says that the formula still contains a `$`, which stands for an axis.
func (l *language) expanded(root *expr.Node, text, axis string, where tree.Position) (f Formula, open bool) {
	node, err := l.Expand(root, axis)
	if err == nil && node.Open() {
		return Formula{Text: "0", Position: where, code: zero}, true
	}
	f = Formula{Text: text, Position: where, written: root, axis: axis}
	if err == nil && node != root {
		f.Text = node.Source()
	}
	if err == nil {
		f.code, err = expr.Parse(f.Text)
	}
	var fault *expr.SyntaxError
	if errors.As(err, &fault) {
		where.Refuse("bad expression `%s`: %s", text, fault.Message)
		return Formula{Text: "0", Position: where, code: zero}, false
	}
	return f, false
}

func constant(text string) Formula { return Formula{Text: text, code: expr.MustParse(text)} }

var zero = expr.MustParse("0") // replaces a formula that was refused

func (l *language) over(s scope) func(*tree.Node) Formula {
	return func(n *tree.Node) Formula { return l.uses(l.formula(n), s) }
}

// uses checks that an expression contains only names of the given scope, and returns the expression.
func (l *language) uses(f Formula, s scope) Formula {
	for _, name := range f.code.Names() {
		l.seen[name] = true
	}
	unknown := slices.DeleteFunc(f.code.Names(), func(name string) bool { return s[name] != "" })
	if len(unknown) == 0 || l.Failed() {
		return f
	}
	column := func(name string) int { return f.written.ColumnOf(name, f.axis) }
	name := slices.MinFunc(unknown, func(a, b string) int { return column(a) - column(b) })
	where := f.Position.Right(max(0, column(name)-1))
	where.RefuseHint(cmp.Or(l.o.componentsHint(name), tree.DidYouMean(name, slices.Collect(maps.Keys(s)))), "`%s` is not defined here", name)
	return f
}

// componentsHint returns a hint with the names that expressions use for a parameter, or "" if there is no such
// parameter.
func (o *Operator) componentsHint(name string) string {
	if spec := o.parameter(name); spec != nil {
		return "it is known as " + strings.Join(spec.Names, ", ")
	}
	return ""
}

// interpolated reads a text with expressions, such as "a {kernel_h}x{kernel_w} kernel".
func (l *language) interpolated(n *tree.Node, s scope) Interpolated {
	t := Interpolated{Position: n.Position}
	rest, where := n.Text(), t.Position
	for {
		plain, after, found := strings.Cut(rest, "{")
		t.parts, t.Text = append(t.parts, plain), t.Text+plain
		if !found || l.Failed() {
			return t
		}
		where = where.Right(len([]rune(plain)))
		text, tail, closed := strings.Cut(after, "}")
		if !closed {
			where.Refuse("`{` without `}`")
		}
		where = where.Right(1)
		for i, f := range l.forAxes(text, where) {
			if i > 0 {
				t.parts, t.Text = append(t.parts, "x"), t.Text+"x"
			}
			t.parts, t.Text = append(t.parts, l.uses(f, s)), t.Text+"{"+f.Text+"}"
		}
		rest, where = tail, where.Right(len([]rune(text))+1)
	}
}

// forAxes parses an expression. forAxes returns one formula, or one for each axis if the expression contains a `$`.
func (l *language) forAxes(text string, where tree.Position) []Formula {
	root := syntax(text, where, "")
	f, open := l.expanded(root, text, "", where)
	if !open {
		return []Formula{f}
	}
	return lists.Of(l.Axes, func(axis string) Formula {
		f, _ := l.expanded(root, text, axis, where)
		return f
	})
}

// list reads a list from op.yaml, each item by the same function; an item that contains a `$` is repeated for each
// axis.
func list[T any](l *language, n *tree.Node, what string, read func(*tree.Node) T) []T {
	values := []T{}
	for _, item := range n.List(what) {
		if l.Failed() {
			break
		}
		values = append(values, lists.Of(l.eachAxis(item), read)...)
	}
	return values
}

func (l *language) names(n *tree.Node, what string) []string {
	seen := map[string]bool{}
	names := list(l, n, what, func(n *tree.Node) string {
		name := n.Name()
		if seen[name] {
			n.Refuse("`%s` is given twice", name)
		}
		seen[name] = true
		return name
	})
	if len(names) == 0 {
		n.Refuse("%s names nothing", what)
	}
	return names
}

// named returns the entries of a mapping whose keys are names that the operator's author chose.
func (l *language) named(n *tree.Node, form string) []tree.Entry {
	entries := l.eachKey(n.Mapped(form))
	for _, e := range entries {
		e.MustBeName(e.Key)
	}
	return entries
}

// eachKey returns entries, in which each entry whose key contains a `$` is repeated for each axis.
func (l *language) eachKey(entries []tree.Entry) (all []tree.Entry) {
	for _, e := range entries {
		if !strings.Contains(e.Key, "$") {
			all = append(all, e)
			continue
		}
		for _, axis := range l.Axes {
			all = append(all, tree.Entry{Position: e.Position, Key: strings.ReplaceAll(e.Key, "$", axis), Value: e.Value.For(axis)})
		}
	}
	return all
}

const derivedForm = "derived must be a mapping of names to expressions"

// definitions reads "name: expression" pairs, which may use names of a scope and each other, and declares them in the
// scope. definitions sorts the pairs so that each comes after those that it uses.
func (l *language) definitions(entries []tree.Entry, s scope) []Definition {
	for _, e := range entries {
		l.declare(s, e.Position, e.Key, "derived value")
	}
	formulas, names := map[string]Formula{}, make([]string, len(entries))
	for i, e := range entries {
		formulas[e.Key], names[i] = l.over(s)(e.Value), e.Key
	}
	order, cycle := expr.DependencyOrder(names, func(name string) []string { return formulas[name].code.Names() })
	if cycle != nil {
		formulas[cycle[0]].Refuse("the derived values need each other: %s", strings.Join(cycle, " -> "))
	}
	definitions := make([]Definition, len(order))
	for i, name := range order {
		definitions[i] = Definition{name, formulas[name]}
	}
	return definitions
}

// define reads the named values and functions of `let`, which do not become macros of kernels.
func (l *language) define(n *tree.Node, s scope) {
	const form = "`%s` is neither a name nor a function as `rounded(x, to)`"
	for _, e := range l.eachKey(n.Mapped("let must be a mapping of names, or of functions as `rounded(x, to)`, to expressions")) {
		head, err := expr.ParseOpen(e.Key)
		if err != nil || head.Op != expr.OpName && head.Op != expr.OpCall || head.Open() {
			e.Refuse(form, e.Key)
			return
		}
		if what := s[head.Name]; what != "" || slices.Contains(reserved, head.Name) {
			e.Refuse("`%s` of `let` has the name of something else", head.Name)
		}
		macro := expr.Macro{Body: syntax(e.Value.Expression(), e.Value.Position, e.Value.CutHint()).For(e.Value.Axis)}
		for _, p := range head.Args {
			if p.Op != expr.OpName {
				e.Refuse(form, e.Key)
			}
			macro.Parameters = append(macro.Parameters, p.Name)
		}
		l.Named[head.Name] = macro
	}
}

// eachAxis returns an item of a list, or one copy for each axis if it is an expression with a `$`.
func (l *language) eachAxis(n *tree.Node) []*tree.Node {
	if !n.Scalar() || n.Axis != "" || len(l.Axes) == 0 {
		return []*tree.Node{n}
	}
	root, err := expr.ParseOpen(n.Expression())
	if err == nil {
		root, err = l.Expand(root, "")
	}
	if err != nil || !root.Open() { // errors are reported when the item is read
		return []*tree.Node{n}
	}
	return lists.Of(l.Axes, n.For)
}

// Interpolated is a text with {expressions}, which are replaced by their values.
type Interpolated struct {
	Text string
	tree.Position
	parts []any // strings and Formulas
}

func (t Interpolated) String() string { return t.Text }

func (t Interpolated) formulas() []Formula {
	var formulas []Formula
	for _, part := range t.parts {
		if f, ok := part.(Formula); ok {
			formulas = append(formulas, f)
		}
	}
	return formulas
}

func (t Interpolated) fill(value func(Formula) (expr.Value, error)) (string, error) {
	var b strings.Builder
	for _, part := range t.parts {
		f, ok := part.(Formula)
		if !ok {
			b.WriteString(part.(string))
			continue
		}
		v, err := value(f)
		if err != nil {
			return "", err
		}
		b.WriteString(v.String())
	}
	return b.String(), nil
}

func plainText(text string) Interpolated { return Interpolated{Text: text, parts: []any{text}} }
