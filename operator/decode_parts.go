package operator

import (
	"maps"
	"strings"

	"autotune/internal/lists"
	"autotune/operator/tree"
	"autotune/space/expr"
)

// This file decodes the parameters and tensors of an operator; in op.yaml, each of them is a mapping.

// parameters reads the operator's parameters and declares their components. The default of a parameter may use
// dimensions and other parameters.
func (l *loader) parameters(n *tree.Node, names scope) {
	dimensions := maps.Clone(names)
	for _, e := range l.named(n, "parameters must be a mapping of names to descriptions") {
		spec := l.parameter(e)
		for _, name := range spec.Names {
			l.declare(names, e.Position, name, "parameter")
		}
		if what := names[spec.Name]; len(spec.Names) > 1 && spec.Type != ExpressionParameter && what != "" {
			e.Refuse("the parameter `%s` has the name of a %s", spec.Name, what)
		}
		l.o.Parameters = append(l.o.Parameters, spec)
	}
	for _, spec := range l.o.Parameters {
		if spec.Default != nil {
			l.uses(*spec.Default, l.defaultScope(spec, dimensions))
		}
	}
	if _, cycle := expr.DependencyOrder(l.o.parameterNames(), l.o.parameterNeeds); cycle != nil {
		l.o.parameter(cycle[0]).Default.Refuse("the parameters' defaults need each other: %s", strings.Join(cycle, " -> "))
	}
}

// defaultScope returns the names that a parameter's default may use: dimensions and other parameters. In the default of
// a component, the name of another parameter with as many components means the component with the same index.
func (l *loader) defaultScope(spec ParameterSpec, dimensions scope) scope {
	s := maps.Clone(dimensions)
	for _, other := range l.o.Parameters {
		s = s.with("parameter", other.Names...)
		if len(other.Names) == len(spec.Names) {
			s[other.Name] = "parameter"
		}
	}
	return s
}

func (l *loader) parameter(e tree.Entry) ParameterSpec {
	f, whole := fields(e.Value, "a parameter"), e.Value
	s := ParameterSpec{
		Name: e.Key, Summary: tree.Optional(f["summary"], (*tree.Node).Text, ""), Names: []string{e.Key},
		Type: IntParameter, Later: tree.Optional(f["later"], (*tree.Node).Bool, false),
	}
	if s.Later && f["default"] == nil {
		whole.Refuse("`%s` has `later: true` and no default: results from before have no value for it", e.Key)
	}
	if f["type"] != nil {
		s.Type = ParameterType(f["type"].OneOf("type", parameterTypes...))
	}
	switch s.Type {
	case intsParameter:
		l.components(&s, f["type"])
	case WordParameter:
		l.words(&s, f, whole)
		return s
	case ExpressionParameter:
		l.chains(&s, f, whole)
		return s
	}
	f.None("it is for expressions", "functions")
	number := func(n *tree.Node) expr.Value {
		if s.Type != FloatParameter {
			return expr.Int(n.Int())
		}
		v, ok := s.read(n.MustBe("a number").Value)
		if !ok {
			n.Refuse("this must be a number; it is %s `%s`", n.Kind, n.Written)
		}
		return v
	}
	s.Default = tree.Pointer(f["default"], l.formula)
	if n := f["range"]; n != nil {
		bounds := list(l.language, n, "range", number)
		if len(bounds) < 1 || len(bounds) > 2 || below(bounds[len(bounds)-1], bounds[0]) {
			n.RefuseHint("as [1] or [0, 1]", "the range of `%s` is not the least value and perhaps the greatest", s.Name)
			return s
		}
		if s.Min = &bounds[0]; len(bounds) == 2 {
			s.Max = &bounds[1]
		}
	}
	s.Choices = list(l.language, f["choices"], "choices", number)
	return s
}

// components declares an integer parameter's components: one for each axis, or a single one with the parameter's name.
func (l *loader) components(s *ParameterSpec, n *tree.Node) {
	if len(l.Axes) == 0 {
		n.Refuse("`type: ints` needs the operator's `axes`")
	}
	s.Type = IntParameter
	if len(l.Axes) > 1 {
		s.Names = lists.Of(l.Axes, func(axis string) string { return s.Name + "_" + axis })
	}
}

func (l *language) words(s *ParameterSpec, f tree.Fields, whole *tree.Node) {
	f.None("it is for numbers", "range")
	f.None("it is for expressions", "functions")
	if f["choices"] == nil {
		whole.RefuseHint("as choices: [relu, gelu]", "`%s` has no choices, which a parameter of words needs", s.Name)
		return
	}
	words := l.names(f["choices"], "choices")
	for _, word := range words {
		s.Choices = append(s.Choices, expr.String(word))
	}
	s.Default = tree.Pointer(f["default"], func(n *tree.Node) Formula {
		word := n.OneOf("choice", words...)
		return Formula{Text: word, Position: n.Position, code: expr.MustParse("'" + word + "'")}
	})
}

// arguments reads the list of tensors and scalars. tolerance is the operator's default tolerance or comparing kernel.
func (l *loader) arguments(n *tree.Node, s scope, tolerance *tree.Node) {
	if tolerance != nil && tolerance.Kind != tree.List {
		c := &OwnKernel{Entry: l.o.Name + "_compare"}
		c.Source = l.kernelFile(tolerance, tolerance, c.Entry)
		l.o.Compare = c
		tolerance = nil
	}
	compared := false
	l.o.Arguments = list(l.language, n, "tensors", func(n *tree.Node) ArgumentSpec {
		f := fields(n, "a tensor")
		a := l.argument(f, s, tolerance)
		compared = compared || a.Role.Compared()
		return a
	})
	names := map[string]bool{}
	for i, a := range l.o.Arguments {
		if names[a.Name] && !l.Failed() {
			n.Items[i].Get("name").Refuse("two tensors are called `%s`", a.Name)
		}
		names[a.Name] = true
	}
	if !compared {
		n.RefuseHint("give one the role output or inout", "no tensor is an output: nothing would be compared")
	}
}

// argument reads the description of a tensor or, if it has the key `value`, of a scalar.
func (l *loader) argument(f tree.Fields, s scope, tolerance *tree.Node) ArgumentSpec {
	formula := l.over(s)
	a := ArgumentSpec{Name: f["name"].Name(), Value: tree.Pointer(f["value"], formula)}
	l.elementType(f["type"], &a)
	if a.Value != nil {
		a.Role = Scalar
		f.None("a scalar is passed by value", "role", "shape", "order", "fill", "tolerance")
		return a
	}
	for _, key := range []string{"role", "shape"} {
		if f[key] == nil {
			f["name"].RefuseHint("a scalar has a value instead", "the tensor `%s` has no `%s`", a.Name, key)
			return a
		}
	}
	if a.Role = Role(f["role"].OneOf("role", tensorRoles...)); a.Role == constantRole {
		a.Role, a.Symbol = Input, a.Name
	}
	a.Shape = list(l.language, f["shape"], "shape", formula)
	l.order(f["order"], &a)
	if f["fill"] != nil {
		if !a.Role.Filled() {
			f["fill"].Refuse("only what is read is filled; `%s` is %s", a.Name, a.Role.noun())
		}
		l.fill(f["fill"], s, &a)
	}
	if !a.Role.Compared() {
		f.None("only what is compared has a tolerance", "tolerance")
		return a
	}
	if own := f["tolerance"]; own != nil || a.Type.Kind() != Floating {
		tolerance = own // integers are compared exactly, unless the tensor has a tolerance of its own
	}
	a.ATol, a.RTol = a.tolerance(), a.tolerance()
	if tolerance == nil {
		return a
	}
	bounds := append(list(l.language, tolerance, "tolerance", formula), a.tolerance())
	if len(bounds) < 2 || len(bounds) > 3 {
		tolerance.RefuseHint("as [1e-5, 1e-4]", "a tolerance is one number or two: absolute and relative")
		return a
	}
	a.ATol, a.RTol = bounds[0], bounds[1]
	return a
}

// elementType reads a tensor's element type, or the name of the parameter that chooses it.
func (l *loader) elementType(n *tree.Node, a *ArgumentSpec) {
	names := Types()
	for _, spec := range l.o.Parameters {
		if spec.Type == WordParameter {
			names = append(names, spec.Name)
		}
	}
	name := tree.Optional(n, func(n *tree.Node) string { return n.OneOf("type", names...) }, string(F32))
	by := l.o.parameter(name)
	if n == nil || by == nil {
		a.Type, a.Types = Type(name), []Type{Type(name)}
		return
	}
	a.TypeBy = name
	for _, word := range by.Choices {
		facts := Type(word.String()).facts()
		if facts.name == "" || facts.kind != Floating {
			n.RefuseHint("a parameter that names a tensor's type must have floating types as choices", "`%s` is a parameter of words, and its word `%s` is no such type", name, word)
		}
		a.Types = append(a.Types, facts.name)
	}
	if a.Value != nil {
		n.Refuse("the scalar `%s` has one type, as f32; a parameter cannot name it", a.Name)
	}
}
