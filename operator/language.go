package operator

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/operator/tree"
	"autotune/space/expr"
)

// language is how an op.yaml writes formulas. Two things make them short: `$` stands for each of the
// operator's `axes`, and `let` names values and functions. Both are spelled out here, before a formula
// is parsed.
type language struct {
	o      *Operator
	along  []string       // what `$` stands for; nil: nothing
	lets   map[string]let // what `let` names
	within int            // how many functions over axes are being spelled out
}

// scope holds the names that an expression may use, and what each is.
type scope map[string]string

// with is the scope together with more names of one kind.
func (s scope) with(what string, names ...string) scope {
	s = maps.Clone(s)
	for _, name := range names {
		s[name] = what
	}
	return s
}

// reserved are names that nothing may be called: they mean something in expressions already, or, in
// upper case, to kernels.
var reserved = append([]string{
	"math", "min", "max", "abs", "ceil_div", "gcd", "int", "float", "bool", "str", "round", "len",
	"and", "or", "not", "in", "is", "if", "else", "true", "false", "none", "lambda", "for",
	"null", "nan", "infinity",
}, limitNames...)

// IsReserved tells whether no tunable or parameter may have a name.
func IsReserved(name string) bool {
	return slices.Contains(reserved, strings.ToLower(name)) || strings.HasPrefix(name, "__")
}

// declare adds a name to a scope. Where names become macros in upper case, two that differ only in
// case clash.
func (l *language) declare(s scope, where tree.Position, name, what string) {
	lower := strings.ToLower(name)
	if mode, ok := strings.CutPrefix(lower, "math_"); IsReserved(name) || ok && slices.Contains(l.o.MathModes, mode) {
		where.Refuse("the %s `%s` has a reserved name", what, name)
	}
	if _, named := l.lets[name]; named {
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

// formula reads an expression without checking its names.
func (l *language) formula(n *tree.Node) Formula {
	text := strings.ReplaceAll(n.MustBe("an expression").Value, "\n", " ")
	long := l.spell(text, n.Position, 0)
	if strings.Contains(long, "$") {
		n.RefuseHint("all($ > 0), say, is of all of them", "`$` has no place here: it stands for each of `axes` in a list, a name's value or a function")
	}
	f := parsed(long, n.Position, n.CutHint())
	f.spelled = long != text
	return f
}

// parsed is an expression whose text starts at a place of the file.
func parsed(text string, where tree.Position, hint string) Formula {
	code, err := expr.Parse(text)
	var fault *expr.SyntaxError
	if errors.As(err, &fault) {
		where.Right(max(0, fault.Column-1)).RefuseHint(hint, "bad expression `%s`: %s", text, fault.Message)
	}
	return Formula{Text: text, Position: where, code: code}
}

func constant(text string) Formula { return Formula{Text: text, code: expr.MustParse(text)} }

// over makes a reader of expressions over a scope.
func (l *language) over(s scope) func(*tree.Node) Formula {
	return func(n *tree.Node) Formula { return l.uses(l.formula(n), s) }
}

// uses checks that an expression holds only names of a scope, and returns it.
func (l *language) uses(f Formula, s scope) Formula {
	unknown := slices.DeleteFunc(f.code.Names(), func(name string) bool { return s[name] != "" })
	if len(unknown) == 0 {
		return f
	}
	name := slices.MinFunc(unknown, func(a, b string) int { return f.code.Column(a) - f.code.Column(b) })
	where := f.Position
	if !f.spelled {
		where = where.Right(f.code.Column(name) - 1)
	}
	where.RefuseHint(cmp.Or(l.o.componentsHint(name), tree.DidYouMean(name, slices.Collect(maps.Keys(s)))), "`%s` is not defined here", name)
	return f
}

// componentsHint says how expressions know a parameter; "" if name is none.
func (o *Operator) componentsHint(name string) string {
	if spec := o.parameter(name); spec != nil {
		return "it is known as " + strings.Join(spec.Names, ", ")
	}
	return ""
}

// interpolated reads text as "a {kernel_h}x{kernel_w} kernel".
func (l *language) interpolated(n *tree.Node, s scope) Interpolated {
	t := Interpolated{Text: l.byAxes(n.Text()), Position: n.Position}
	rest, where := t.Text, t.Position
	for {
		plain, after, found := strings.Cut(rest, "{")
		t.parts = append(t.parts, plain)
		if !found {
			return t
		}
		where = where.Right(len([]rune(plain)))
		text, tail, closed := strings.Cut(after, "}")
		if !closed {
			where.Refuse("`{` without `}`")
		}
		where = where.Right(1)
		t.parts = append(t.parts, l.uses(parsed(l.spell(text, where, 0), where, ""), s))
		rest, where = tail, where.Right(len([]rune(text))+1)
	}
}

// list reads a list whose items are alike. An item whose text has a `$` becomes one for each axis.
func list[T any](l *language, n *tree.Node, what string, read func(*tree.Node) T) []T {
	values := []T{}
	for _, item := range n.List(what) {
		values = append(values, lists.Of(l.eachAxis(item), read)...)
	}
	return values
}

// names reads a list of different names.
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

// named are the entries of a mapping whose keys are names of the author's. One whose key has a `$`
// becomes one for each axis.
func (l *language) named(n *tree.Node, form string) []tree.Entry {
	var entries []tree.Entry
	for _, e := range n.Mapped(form) {
		if !strings.Contains(e.Key, "$") || len(l.along) == 0 {
			entries = append(entries, e)
			continue
		}
		for _, axis := range l.along {
			entries = append(entries, tree.Entry{Position: e.Position, Key: forAxis(e.Key, axis), Value: nodeFor(e.Value, axis)})
		}
	}
	for _, e := range entries {
		e.MustBeName(e.Key)
	}
	return entries
}

const derivedForm = "derived must be a mapping of names to expressions"

// definitions reads "name: expression" pairs over a scope and each other, and declares them in it. It
// sorts them so that each comes after those that it names.
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

// let is a named value, or a function of its parameters. It is no macro.
type let struct {
	parameters []string
	body       string
}

var letForm = regexp.MustCompile(`^([A-Za-z_]\w*)(?:\(([A-Za-z_]\w*(?:, *[A-Za-z_]\w*)*)\))?$`)

// define reads named values and functions.
func (l *language) define(n *tree.Node, s scope) {
	for _, e := range n.Mapped("let must be a mapping of names, or of functions as `rounded(x, to)`, to expressions") {
		parts := letForm.FindStringSubmatch(e.Key)
		if parts == nil {
			e.Refuse("`%s` is neither a name nor a function as `rounded(x, to)`", e.Key)
		}
		name := parts[1]
		if what := s[name]; what != "" || slices.Contains(reserved, name) {
			e.Refuse("`%s` of `let` has the name of something else", name)
		}
		one := let{body: e.Value.MustBe("an expression").Value}
		if parts[2] != "" {
			one.parameters = regexp.MustCompile(`, *`).Split(parts[2], -1)
		}
		l.lets[name] = one
	}
}

// overAxes are the functions that take one value an axis, and how their values are put together.
var overAxes = map[string]string{"all": " and ", "any": " or ", "product": "*", "max": ", ", "min": ", "}

// forAxis writes a text for one axis.
func forAxis(text, axis string) string { return strings.ReplaceAll(text, "$", axis) }

// nodeFor writes a text of the file for one axis.
func nodeFor(n *tree.Node, axis string) *tree.Node {
	one := *n
	if n.Kind == tree.Text {
		one.Value, one.Written = forAxis(n.Value, axis), forAxis(n.Written, axis)
	}
	return &one
}

// eachAxis gives an item of a list for each axis, if its text has a `$`.
func (l *language) eachAxis(n *tree.Node) []*tree.Node {
	if !n.Scalar() || len(l.along) == 0 || !strings.Contains(l.spell(n.Value, n.Position, 0), "$") || strings.Contains(n.Value, "{") {
		return []*tree.Node{n}
	}
	return lists.Of(l.along, func(axis string) *tree.Node { return nodeFor(n, axis) })
}

var wordForm = regexp.MustCompile(`'[^']*'|"[^"]*"|[A-Za-z_$][\w$]*|\d[\w.]*`)

const (
	mostSpelled = 1 << 14 // characters of an expression that is spelled out
	mostNested  = 32      // values of `let` within each other
)

// spell writes an expression out: what `let` names, and functions over all axes.
func (l *language) spell(text string, where tree.Position, nested int) string {
	if nested > mostNested {
		where.Refuse("`%s`: the values of `let` need each other", text)
	}
	var b strings.Builder
	for text != "" {
		span := wordForm.FindStringIndex(text)
		if span == nil {
			b.WriteString(text)
			break
		}
		word, rest := text[span[0]:span[1]], text[span[1]:]
		b.WriteString(text[:span[0]])
		one, named := l.lets[word]
		joint, over := overAxes[word]
		over = over && (l.within == 0 || joint != ", ")
		switch {
		case named && one.parameters == nil:
			b.WriteString(bracketed(l.spell(one.body, where, nested+1)))
		case named || over && strings.HasPrefix(rest, "("):
			arguments, after, ok := argumentsOf(rest)
			if !ok || named && len(arguments) != len(one.parameters) {
				where.Refuse("`%s` takes %d arguments in brackets", word, len(one.parameters))
			}
			if named {
				b.WriteString("(" + l.spell(substituted(one, arguments), where, nested+1) + ")")
			} else {
				b.WriteString(folded(word, joint, l.forAxes(arguments, where, nested), b.Len() == 0 && after == ""))
			}
			rest = after
		default:
			b.WriteString(word)
		}
		if text = rest; b.Len() > mostSpelled {
			where.Refuse("an expression of more than %d characters, spelled out", mostSpelled)
		}
	}
	return b.String()
}

// bracketed puts an expression into brackets, unless it is one word.
func bracketed(text string) string {
	if wordForm.FindString(text) == text {
		return text
	}
	return "(" + text + ")"
}

// substituted is a function's body with arguments in place of its parameters.
func substituted(f let, arguments []string) string {
	return wordForm.ReplaceAllStringFunc(f.body, func(word string) string {
		if i := slices.Index(f.parameters, word); i >= 0 {
			return bracketed(strings.TrimSpace(arguments[i]))
		}
		return word
	})
}

// forAxes spells out arguments: one with a `$` becomes one for each axis. An all, any or product
// within it has its own axes; a max or min within it has the same.
func (l *language) forAxes(arguments []string, where tree.Position, nested int) []string {
	var all []string
	for _, a := range arguments {
		l.within++
		a = l.spell(strings.TrimSpace(a), where, nested+1)
		l.within--
		if !strings.Contains(a, "$") {
			all = append(all, a)
			continue
		}
		all = append(all, lists.Of(l.along, func(axis string) string { return l.spell(forAxis(a, axis), where, nested+1) })...)
	}
	return all
}

// folded puts a function's arguments together. Alone it needs no brackets.
func folded(name, joint string, all []string, alone bool) string {
	if joint == ", " && len(all) > 1 {
		return fmt.Sprintf("%s(%s)", name, strings.Join(all, joint))
	}
	for i, one := range all {
		if joint == "*" && strings.ContainsAny(one, " +-/%") || strings.Contains(one, " or ") || strings.Contains(one, " if ") {
			all[i] = "(" + one + ")"
		}
	}
	if alone || len(all) == 1 && !strings.ContainsAny(all[0], " +-*/%") {
		return strings.Join(all, joint)
	}
	return "(" + strings.Join(all, joint) + ")"
}

// argumentsOf takes the arguments in brackets, as written, from the beginning of a text.
func argumentsOf(text string) (arguments []string, after string, ok bool) {
	if !strings.HasPrefix(text, "(") {
		return nil, "", false
	}
	depth, start := 0, 1
	for i := range len(text) {
		switch text[i] {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ',':
			if depth == 1 {
				arguments, start = append(arguments, text[start:i]), i+1
			}
		}
		if depth == 0 {
			return append(arguments, text[start:i]), text[i+1:], true
		}
	}
	return nil, "", false
}

// byAxes writes out {expressions} of a text that have a `$`, as 3x5.
func (l *language) byAxes(text string) string {
	return bracesForm.ReplaceAllStringFunc(text, func(braced string) string {
		if !strings.Contains(braced, "$") || !strings.Contains(l.spell(braced[1:len(braced)-1], tree.Position{}, 0), "$") {
			return braced
		}
		all := lists.Of(l.along, func(axis string) string { return forAxis(braced, axis) })
		return strings.Join(all, "x")
	})
}

var bracesForm = regexp.MustCompile(`\{[^{}]*\}`)
