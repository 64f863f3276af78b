package operator

import (
	"maps"
	"strings"

	"autotune/space/expr"

	"github.com/goccy/go-yaml/ast"
)

// The parts of an operator that are mappings of their own: parameters, preset,
// requirements and tensors.

// parameters reads the parameters and declares their components. Their defaults
// may name dimensions and each other, so they are checked at the end.
func (l *loader) parameters(n ast.Node, names scope) {
	dimensions := maps.Clone(names)
	for _, e := range l.named(n, "parameters must be a mapping of names to descriptions") {
		spec := l.parameter(e)
		for _, name := range spec.Components() {
			l.declare(names, e.Position, name, "parameter")
		}
		if len(spec.Suffix) > 1 && names[spec.Name] != "" {
			l.clash(e.Position, spec.Name, "parameter", spec.Name, names[spec.Name])
		}
		l.o.Parameters = append(l.o.Parameters, spec)
	}
	for _, spec := range l.o.Parameters {
		if spec.Default != nil {
			l.uses(*spec.Default, l.defaultScope(spec, dimensions))
		}
	}
	if _, cycle := expr.DependencyOrder(l.o.parameterNames(), l.o.parameterNeeds); cycle != nil {
		l.fail(l.o.parameter(cycle[0]).Default.Position, "the parameters' defaults need each other: %s", strings.Join(cycle, " -> "))
	}
}

// defaultScope is what a parameter's default may name: dimensions and other
// parameters. A pair's own name means its same component to another pair.
func (l *loader) defaultScope(spec ParameterSpec, dimensions scope) scope {
	s := maps.Clone(dimensions)
	for _, other := range l.o.Parameters {
		for _, name := range other.Components() {
			s[name] = "parameter"
		}
		if len(other.Suffix) == len(spec.Suffix) {
			s[other.Name] = "parameter"
		}
	}
	return s
}

func (l *loader) parameter(e entry) ParameterSpec {
	f := l.fields(e.value, "a parameter")
	later := optional(f["later"], l.boolean, false)
	if later && f["default"] == nil {
		l.fail(at(e.value), "`%s` came later and has no default: what is known of the operator was without it", e.key)
	}
	parameterType := func(n ast.Node) ParameterType {
		return ParameterType(l.oneOf(n, "type", string(IntParameter), string(BoolParameter), string(WordParameter)))
	}
	if t := f["type"]; t != nil && parameterType(t) == WordParameter {
		s := l.wordParameter(e, f)
		s.Later = later
		return s
	}
	s := ParameterSpec{
		Name: e.key, Summary: optional(f["summary"], l.text, ""), Suffix: []string{""}, Later: later,
		Type:    optional(f["type"], parameterType, IntParameter),
		Default: pointer(f["default"], l.formula),
		Min:     pointer(f["min"], l.integer), Max: pointer(f["max"], l.integer),
		Choices: list(l, f["choices"], "choices", l.integer),
	}
	pair, triple := optional(f["pair"], l.boolean, false), optional(f["triple"], l.boolean, false)
	switch {
	case pair && triple:
		l.fail(at(e.value), "`%s` cannot be a pair and a triple", s.Name)
	case (pair || triple) && s.Type == BoolParameter:
		l.fail(at(e.value), "`%s`: pairs and triples hold integers", s.Name)
	case s.Min != nil && s.Max != nil && *s.Min > *s.Max:
		l.fail(at(e.value), "`%s`: min %d is above max %d", s.Name, *s.Min, *s.Max)
	case optional(f["axes"], l.boolean, false):
		s.Suffix = l.axisSuffixes(f["axes"])
	case triple:
		s.Suffix = []string{"_d", "_h", "_w"}
	case pair:
		s.Suffix = []string{"_h", "_w"}
	}
	return s
}

// axisSuffixes are those of a parameter with a component an axis; that of a single axis has none.
func (l *loader) axisSuffixes(n ast.Node) []string {
	switch axes := l.along; len(axes) {
	case 0:
		l.fail(at(n), "`axes: true` needs the operator's `axes`")
	case 1:
		return []string{""}
	}
	var suffixes []string
	for _, axis := range l.along {
		suffixes = append(suffixes, "_"+axis)
	}
	return suffixes
}

// wordParameter reads a parameter whose values are words.
func (l *loader) wordParameter(e entry, f map[string]ast.Node) ParameterSpec {
	l.none(f, "it is for integers", "pair", "triple", "min", "max")
	if f["choices"] == nil {
		l.failHint(at(e.value), "as choices: [relu, gelu]", "`%s` has no choices, which a parameter of words needs", e.key)
	}
	s := ParameterSpec{Name: e.key, Summary: optional(f["summary"], l.text, ""), Suffix: []string{""}, Type: WordParameter}
	s.Words = l.names(f["choices"], "choices", func(ast.Node, string) {})
	s.Default = pointer(f["default"], func(n ast.Node) Formula {
		return Formula{Text: l.oneOf(n, "choice", s.Words...), Position: at(n), code: expr.MustParse("'" + l.text(n) + "'")}
	})
	return s
}

// preset reads values for parameters; with it, none may be left open.
func (l *loader) preset(n ast.Node) map[string]string {
	preset := map[string]string{}
	for _, e := range l.entries(n, "preset must be a mapping of parameters to values") {
		spec := l.o.parameter(e.key)
		if spec == nil {
			l.failHint(e.Position, nearestOrAll(e.key, "there are", l.o.parameterNames()), "unknown parameter `%s`", e.key)
		}
		written, _ := l.scalar(e.value, "a value as --set takes it, as 3, 3x5 or true")
		if _, err := spec.parse(written); err != nil {
			l.fail(at(e.value), "%v", err)
		}
		preset[e.key] = written
	}
	for _, spec := range l.o.Parameters {
		if _, set := preset[spec.Name]; spec.Default == nil && !set {
			l.fail(at(n), "the preset leaves `%s` open, which has no default", spec.Name)
		}
	}
	return preset
}

func (l *loader) requirement(n ast.Node, s scope) Requirement {
	f := l.fields(n, "a requirement")
	return Requirement{
		That: l.over(s)(f["that"]), Because: l.interpolated(f["because"], s),
	}
}

// arguments reads the list of tensors and scalars. tolerance is what the operator
// says of all that is compared.
func (l *loader) arguments(n ast.Node, s scope, tolerance map[string]ast.Node) []ArgumentSpec {
	names, compared := map[string]bool{}, 0
	all := list(l, n, "tensors", func(n ast.Node) ArgumentSpec {
		f := l.fields(n, "a tensor")
		a := l.argument(f, s, tolerance)
		if names[a.Name] {
			l.fail(at(f["name"]), "two tensors are called `%s`", a.Name)
		}
		names[a.Name] = true
		if a.Role.Compared() {
			compared++
		}
		return a
	})
	if compared == 0 {
		l.failHint(at(n), "give one the role output or inout", "no tensor is an output: nothing would be compared")
	}
	return all
}

// argument reads a tensor, or, where a value is given, a scalar.
func (l *loader) argument(f map[string]ast.Node, s scope, tolerance map[string]ast.Node) ArgumentSpec {
	formula := l.over(s)
	a := ArgumentSpec{Name: l.identifier(f["name"]), Value: pointer(f["value"], formula)}
	l.elementType(f["type"], &a)
	if a.Value != nil {
		a.Role = Scalar
		l.none(f, "a scalar is passed by value", "role", "shape", "scale", "fill", "symbol", "atol", "rtol")
		return a
	}
	for _, key := range []string{"role", "shape"} {
		if f[key] == nil {
			l.failHint(at(f["name"]), "a scalar has a value instead", "the tensor `%s` has no `%s`", a.Name, key)
		}
	}
	a.Role = Role(l.oneOf(f["role"], "role", tensorRoles...))
	a.Shape = list(l, f["shape"], "shape", formula)
	a.Scale = pointer(f["scale"], formula)
	switch {
	case a.Scale == nil:
	case a.Role != Weight:
		l.fail(at(f["scale"]), "only a weight has a scale; `%s` is %s", a.Name, a.Role.noun())
	case a.Type.Kind() != Floating:
		l.failHint(at(f["scale"]), "say it as fill: \"integers(-5, 5)\"", "only a floating type has a scale; `%s` is of type %s", a.Name, a.Type)
	case f["fill"] != nil:
		l.fail(at(f["scale"]), "`%s` has a fill already, which a scale has no part in", a.Name)
	}
	a.Fill = pointer(f["fill"], func(n ast.Node) FillSpec {
		return l.fill(n, func(text string, where Position) Formula { return l.uses(l.expression(text, where, ""), s) })
	})
	if a.Fill != nil && !a.Role.Filled() {
		l.fail(at(f["fill"]), "only what is read is filled; `%s` is %s", a.Name, a.Role.noun())
	}
	a.Symbol = optional(f["symbol"], l.identifier, "")
	if a.Symbol != "" && a.Role != Input && a.Role != Weight {
		l.fail(at(f["symbol"]), "only what is read can be in constant memory; `%s` is %s", a.Name, a.Role.noun())
	}
	if a.Fill != nil && a.Fill.File != "" {
		l.data(l.fields(f["fill"], "fill")["npy"], a)
	}
	if !a.Role.Compared() {
		l.none(f, "only what is compared has a tolerance", "atol", "rtol")
		return a
	}
	if a.Type.Kind() != Floating {
		tolerance = nil // integers are exact, unless they say otherwise themselves
	}
	a.ATol = l.firstFormula(formula, a.tolerance(), f["atol"], tolerance["atol"])
	a.RTol = l.firstFormula(formula, a.tolerance(), f["rtol"], tolerance["rtol"])
	return a
}

// firstFormula reads the first of some expressions that is there.
func (l *loader) firstFormula(read func(ast.Node) Formula, otherwise Formula, nodes ...ast.Node) Formula {
	for _, n := range nodes {
		if n != nil {
			return read(n)
		}
	}
	return otherwise
}

// none refuses keys that have no place here.
func (l *loader) none(f map[string]ast.Node, because string, keys ...string) {
	for _, key := range keys {
		if f[key] != nil {
			l.fail(at(f[key]), "`%s` has no place here: %s", key, because)
		}
	}
}

func (l *loader) typeName(n ast.Node) Type { return Type(l.oneOf(n, "type", Types()...)) }
