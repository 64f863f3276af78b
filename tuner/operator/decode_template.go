package operator

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"autotune/space"
	"autotune/space/expr"
)

// templates reads the list of templates over the names of a problem.
func (l *loader) templates(n ast.Node, problem scope) {
	for _, item := range l.items(n, "templates") {
		names := problem.withLimits()
		with := l.definitions(l.named(l.with[item], "with must be a mapping of names to expressions"), names)
		l.o.Templates = append(l.o.Templates, l.template(item, names, with))
	}
	if len(l.o.Templates) == 0 {
		l.fail(at(n), "an operator needs at least one template")
	}
}

// template reads one template; s holds what it may know of problem and device, and what it is
// read with.
func (l *loader) template(n ast.Node, s scope, with []Definition) *Template {
	f := l.fields(n, "a template")
	t := &Template{
		Name: l.identifier(f["name"]), Summary: optional(f["summary"], l.text, ""),
		sameMacros: l.o.SameMacros, at: l.kept(at(n)), With: with,
	}
	if _, twice := l.o.Template(t.Name); twice {
		l.fail(at(f["name"]), "two templates are called `%s`", t.Name)
	}
	if t.Name == "reference" {
		l.fail(at(f["name"]), "a template cannot be called `reference`: its entry point would be the reference's")
	}
	t.kernel = l.kernelName(f["source"], l.o.Name+"_"+t.Name)
	l.likeAnother(t, n, s)
	l.mappings = append(l.mappings, l.whole(n))
	along, lets := l.along, maps.Clone(l.lets)
	defer func() { l.along, l.lets = along, lets }()
	l.along = optional(f["axes"], l.axesNames, l.along)
	l.letThem(f["let"], s)
	t.When, t.launchAt = pointer(f["when"], l.over(s)), l.kept(at(cmp.Or(f["launch"], f["launches"])))
	for _, e := range l.named(f["tunables"], "tunables must be a mapping of names to lists of values") {
		if e.key == "template" {
			l.failHint(e.Position, "call it something else", "a tunable cannot be called `template`: recordings keep the template's name under that key")
		}
		l.declare(s, e.Position, e.key, "tunable")
		t.Tunables = append(t.Tunables, l.tunable(e))
	}
	t.Derived = l.definitions(l.named(f["derived"], derivedForm), s)
	if f["workspaces"] != nil {
		l.workspaces(f["workspaces"], t, s)
	}
	t.Constraints = list(l, f["constraints"], "constraints", l.over(s))
	t.Estimate = pointer(f["estimate"], l.over(s))
	t.Flags = list(l, f["flags"], "flags", func(n ast.Node) Interpolated { return l.interpolated(n, s) })
	t.Launches = l.launches(f, n, s, t, t.kernel)
	l.defaults(f["default"], t)
	t.Source = l.kernel(f["source"], n, t.entries()...)
	if f["headers"] != nil {
		t.Source = l.exchange(f["headers"], t.Source)
	}
	return t
}

// axes reads a launch's three extents.
func (l *loader) axes(n ast.Node, what string, s scope) [3]Formula {
	formulas := list(l, n, what, l.over(s))
	if len(formulas) != 3 {
		l.fail(at(n), "%s has %d entries; it needs three: x, y, z", what, len(formulas))
	}
	return [3]Formula(formulas)
}

// tunable reads a tunable's values. Integers among floats count as floats.
func (l *loader) tunable(e entry) space.Tunable {
	t := space.Tunable{Name: e.key}
	items := l.items(e.value, "a tunable's values")
	t.Values = list(l, e.value, "a tunable's values", l.value)
	if len(items) == 0 {
		l.fail(at(e.value), "`%s` has no values", e.key)
	}
	if slices.ContainsFunc(t.Values, isFloat) {
		for i := range t.Values {
			t.Values[i] = asFloat(t.Values[i])
		}
	}
	for i, v := range t.Values {
		if v.Kind() != t.Values[0].Kind() {
			written, _, _ := scalar(items[i])
			l.fail(at(items[i]), "`%s` mixes types: %s is not of the type of %v", e.key, written, t.Values[0])
		}
		if slices.Contains(t.Values[:i], v) {
			l.fail(at(items[i]), "`%s` has the value %v twice", e.key, v)
		}
	}
	return t
}

func isFloat(v expr.Value) bool { return v.Kind() == expr.KindFloat }

// asFloat makes a float of an int and leaves other values alone.
func asFloat(v expr.Value) expr.Value {
	if f, ok := v.AsFloat(); ok && v.Kind() == expr.KindInt {
		return expr.Float(f)
	}
	return v
}

func (l *loader) value(n ast.Node) expr.Value {
	_, text, _ := scalar(n)
	switch n := n.(type) {
	case *ast.BoolNode:
		return expr.Bool(n.Value)
	case *ast.IntegerNode:
		return expr.Int(l.integer(n))
	case *ast.FloatNode:
		return expr.Float(n.Value)
	case *ast.StringNode, *ast.LiteralNode:
		if !identifierForm.MatchString(text) {
			l.fail(at(n), "`%s` cannot be a macro's value: integers, numbers, booleans and names can", text)
		}
		return expr.String(text)
	}
	l.refuse(n, "this must be a value; it is %s", kind(n))
	return expr.Value{}
}

// defaults reads the default configuration: one of its values for each tunable.
func (l *loader) defaults(n ast.Node, t *Template) {
	t.Default, t.defaultAt = space.Configuration{Template: t.Name}, t.at
	if n == nil {
		if len(t.Tunables) > 0 {
			l.fail(t.at, "template `%s` lacks the key `default`: one value for each tunable", t.Name)
		}
		return
	}
	t.defaultAt = l.kept(at(n))
	var names []string
	for _, tunable := range t.Tunables {
		names = append(names, tunable.Name)
	}
	given := l.fieldsOf(n, "default", required(names))
	for _, tunable := range t.Tunables {
		n := given[tunable.Name]
		v := l.value(n)
		if isFloat(tunable.Values[0]) {
			v = asFloat(v)
		}
		if !slices.Contains(tunable.Values, v) {
			l.failHint(at(n), fmt.Sprintf("they are %v", tunable.Values), "the default %s=%v is not among its values", tunable.Name, v)
		}
		t.Default.Values = append(t.Default.Values, space.Value{Name: tunable.Name, Value: v})
	}
}
