package operator

import (
	"errors"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"autotune/space/expr"
)

// operator reads the tree of an op.yaml into l.o. Each name is declared before
// the expressions that may use it are read, so one pass checks form and meaning.
func (l *loader) operator(root ast.Node) {
	f := l.fields(root, "an operator")
	o, names := l.o, scope{}
	o.Name, o.Summary = l.identifier(f["operator"]), l.text(f["summary"])
	o.SameMacros = f["macros"] != nil && l.oneOf(f["macros"], "naming of macros", "upper", "same") == "same"
	l.along = optional(f["axes"], l.axesNames, nil)
	o.Shape = l.names(f["shape"], "shape", func(n ast.Node, name string) { l.declare(names, at(n), name, "dimension") })
	o.Example, o.exampleAt = optional(f["example"], l.example, nil), at(f["example"])
	l.parameters(f["parameters"], names)
	l.letThem(f["let"], names)
	o.Preset = optional(f["preset"], l.preset, nil)
	l.math(f["math"], names)

	names["math"] = "math mode"
	o.Derived = l.definitions(l.named(f["derived"], derivedForm), names)
	formula := l.over(names)
	o.Requires = list(l, f["requires"], "requires", func(n ast.Node) Requirement { return l.requirement(n, names) })
	o.Arguments = l.arguments(f["tensors"], names, l.fields(f["tolerance"], "tolerance"))
	o.Inputs = optional(f["inputs"], l.inputs, Distributions())
	o.Deterministic = optional(f["deterministic"], l.boolean, true)
	cost := l.fields(f["cost"], "cost")
	o.Bytes, o.Flops = formula(cost["bytes"]), optional(cost["flops"], formula, constant("0"))
	if f["reference"] == nil && l.own == nil {
		l.fail(at(root), "an operator lacks the key `reference`")
	}
	l.compare(f["compare"], f["tolerance"], formula)
	l.reference(f["reference"], root)
	l.templates(f["templates"], names)
	l.referenceTemplate()
	l.metrics(f["metrics"], names)
	o.PyTorch = optional(f["pytorch"], l.pytorch, nil)
}

// optional reads a value that may be absent.
func optional[T any](n ast.Node, read func(ast.Node) T, otherwise T) T {
	if n == nil {
		return otherwise
	}
	return read(n)
}

// pointer reads a value that may be absent: nil.
func pointer[T any](n ast.Node, read func(ast.Node) T) *T {
	if n == nil {
		return nil
	}
	v := read(n)
	return &v
}

// Scalars.

func (l *loader) identifier(n ast.Node) string {
	name, _ := l.scalar(n, "a name")
	return l.mustBeName(at(n), name)
}

func (l *loader) mustBeName(where Position, name string) string {
	if !identifierForm.MatchString(name) {
		l.fail(where, "`%s` is not a name: letters, digits and _, not starting with a digit", name)
	}
	return name
}

func (l *loader) boolean(n ast.Node) bool {
	b, ok := n.(*ast.BoolNode)
	if !ok {
		l.refuse(n, "this must be true or false; it is %s", kind(n))
	}
	return b.Value
}

// oneOf reads one of a few words.
func (l *loader) oneOf(n ast.Node, what string, words ...string) string {
	word := l.text(n)
	if !slices.Contains(words, word) {
		l.failHint(at(n), nearestOrAll(word, "there are", words), "unknown %s `%s`", what, word)
	}
	return word
}

// Expressions.

func constant(text string) Formula { return Formula{Text: text, code: expr.MustParse(text)} }

// formula reads an expression, whatever its names.
func (l *loader) formula(n ast.Node) Formula {
	_, text := l.scalar(n, "an expression")
	text = strings.ReplaceAll(text, "\n", " ")
	long := l.spell(text, at(n), 0)
	if strings.Contains(long, "$") {
		l.failHint(at(n), "all($ > 0), say, is of all of them", "`$` has no place here: it stands for each of `axes` in a list, a name's value or a function")
	}
	f := l.expression(long, at(n), cutHint(n, text))
	f.spelled = long != text
	return f
}

// cutHint is what to say of a bad expression that a comma may have cut in two, as
// [ceil_div(a, b)] without quotes.
func cutHint(n ast.Node, text string) string {
	next := n.GetToken().Next
	if next == nil || next.Type != token.CollectEntryType || strings.Count(text, "(") <= strings.Count(text, ")") {
		return ""
	}
	return quotesHint
}

// expression reads a text that starts at a place of the file.
func (l *loader) expression(text string, where Position, hint string) Formula {
	code, err := expr.Parse(text)
	var fault *expr.SyntaxError
	if errors.As(err, &fault) {
		where.Column += max(0, fault.Column-1)
		l.failHint(where, hint, "bad expression `%s`: %s", text, fault.Message)
	}
	return Formula{Text: text, Position: l.kept(where), code: code}
}

// over makes a reader of expressions over a scope.
func (l *loader) over(s scope) func(ast.Node) Formula {
	return func(n ast.Node) Formula { return l.uses(l.formula(n), s) }
}

// Lists and mappings of names.

// names reads a list of different names and hands each to declare.
func (l *loader) names(n ast.Node, what string, declare func(n ast.Node, name string)) []string {
	seen := map[string]bool{}
	names := list(l, n, what, func(n ast.Node) string {
		name := l.identifier(n)
		if seen[name] {
			l.fail(at(n), "`%s` is given twice", name)
		}
		seen[name] = true
		declare(n, name)
		return name
	})
	if len(names) == 0 {
		l.fail(at(n), "%s names nothing", what)
	}
	return names
}

// named are the entries of a mapping whose keys are names of the author's.
func (l *loader) named(n ast.Node, want string) []entry {
	if n == nil {
		return nil
	}
	var entries []entry
	for _, e := range l.entries(n, want) {
		entries = append(entries, l.eachEntry(e)...)
	}
	for _, e := range entries {
		l.mustBeName(e.Position, e.key)
	}
	return entries
}

const derivedForm = "derived must be a mapping of names to expressions"

// definitions reads "name: expression" pairs over a scope and each other, and
// declares them in it. It sorts them so that each comes after those that it names.
func (l *loader) definitions(entries []entry, s scope) []Definition {
	for _, e := range entries {
		l.declare(s, e.Position, e.key, "derived value")
	}
	formulas, names := map[string]Formula{}, make([]string, len(entries))
	for i, e := range entries {
		formulas[e.key], names[i] = l.uses(l.formula(e.value), s), e.key
	}
	order, cycle := expr.DependencyOrder(names, func(name string) []string { return formulas[name].code.Names() })
	if cycle != nil {
		l.fail(formulas[cycle[0]].Position, "the derived values need each other: %s", strings.Join(cycle, " -> "))
	}
	definitions := make([]Definition, len(order))
	for i, name := range order {
		definitions[i] = Definition{name, formulas[name]}
	}
	return definitions
}

// The operator's smaller keys.

func (l *loader) example(n ast.Node) []int64 {
	if _, ok := n.(*ast.SequenceNode); ok {
		return list(l, n, "example", l.integer)
	}
	shape, err := ParseShape(l.text(n))
	if err != nil {
		l.fail(at(n), "%v", err)
	}
	return shape
}

// distributions are the input distributions that devices can fill a tensor with.
var distributions = []string{"uniform01", "normal", "negative", "special"}

// Distributions lists the input distributions that there are.
func Distributions() []string { return slices.Clone(distributions) }

func (l *loader) inputs(n ast.Node) []string {
	return l.names(n, "inputs", func(n ast.Node, _ string) { l.oneOf(n, "distribution", distributions...) })
}
