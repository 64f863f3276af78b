package operator

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"autotune/space/expr"
)

// checker sees that the names of an operator mean something: that each is
// declared once, that expressions use only what is known where they stand, and
// that no definition needs itself.
type checker struct {
	file string
	root *node
	o    *Operator
}

// scope holds the names that an expression may use, and what each is.
type scope map[string]string

func (s scope) clone() scope { return maps.Clone(s) }

// limitNames are what expressions know of the device; see Limits.
var limitNames = []string{"arch", "target", "sm_count", "max_threads", "max_shared", "warp_size"}

// reserved are names that nothing may be called: they mean something in
// expressions already, or, in upper case, to CUDA C++.
var reserved = append([]string{
	"math", "min", "max", "abs", "ceil_div", "int", "float", "bool", "str", "round", "len",
	"and", "or", "not", "in", "is", "if", "else", "true", "false", "none", "lambda", "for",
	"null", "nan", "infinity", "math_tf32",
}, limitNames...)

func (c checker) check() error {
	problem, err := c.declarations()
	if err != nil {
		return err
	}
	if err := c.parameters(problem); err != nil {
		return err
	}
	if err := c.definitions(c.o.Derived, "derived value", problem); err != nil {
		return err
	}
	if err := c.problemFormulas(problem); err != nil {
		return err
	}
	if err := c.preset(); err != nil {
		return err
	}
	for i, t := range c.o.Templates {
		if err := c.template(t, c.root.get("templates").items[i], problem); err != nil {
			return err
		}
	}
	return nil
}

// declarations collects what every expression over a problem may use.
func (c checker) declarations() (scope, error) {
	s := scope{}
	for i, name := range c.o.Shape {
		at := c.root.get("shape").items[i]
		if err := c.declare(s, name, "dimension", at.line, at.column); err != nil {
			return nil, err
		}
	}
	for i, spec := range c.o.Parameters {
		at := c.root.get("parameters").entries[i]
		for _, name := range spec.Components() {
			if err := c.declare(s, name, "parameter", at.line, at.column); err != nil {
				return nil, err
			}
		}
		if len(spec.Suffix) > 1 && s[spec.Name] != "" {
			return nil, c.clash(spec.Name, "parameter", spec.Name, s[spec.Name], at.line, at.column)
		}
	}
	for i, definition := range c.o.Derived {
		at := c.root.get("derived").entries[i]
		if err := c.declare(s, definition.Name, "derived value", at.line, at.column); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// declare adds a name to a scope. Names become macros in upper case, so two
// that differ only in case are one too many.
func (c checker) declare(s scope, name, what string, line, column int) error {
	if slices.Contains(reserved, strings.ToLower(name)) || strings.HasPrefix(name, "__") {
		return &Error{File: c.file, Line: line, Column: column, Message: fmt.Sprintf("the %s `%s` has a reserved name", what, name)}
	}
	for _, other := range slices.Sorted(maps.Keys(s)) {
		if strings.EqualFold(other, name) {
			return c.clash(name, what, other, s[other], line, column)
		}
	}
	s[name] = what
	return nil
}

func (c checker) clash(name, what, other, otherWhat string, line, column int) error {
	e := &Error{File: c.file, Line: line, Column: column, Message: fmt.Sprintf("the %s `%s` has the name of a %s", what, name, otherWhat)}
	if name != other {
		e.Message = fmt.Sprintf("the %s `%s` and the %s `%s` are one macro, %s", what, name, otherWhat, other, strings.ToUpper(name))
	}
	return e
}

// uses sees that an expression holds only names of a scope.
func (c checker) uses(f Formula, s scope) error {
	names := slices.DeleteFunc(f.code.Names(), func(name string) bool { return s[name] != "" })
	if len(names) == 0 {
		return nil
	}
	name := slices.MinFunc(names, func(a, b string) int { return f.code.Column(a) - f.code.Column(b) })
	e := &Error{File: c.file, Line: f.Line, Column: f.Column + f.code.Column(name) - 1, Message: fmt.Sprintf("`%s` is not defined here", name)}
	e.Hint = didYouMean(name, slices.Collect(maps.Keys(s)))
	for _, spec := range c.o.Parameters {
		if spec.Name == name {
			e.Hint = "it is known as " + strings.Join(spec.Components(), ", ")
		}
	}
	return e
}

// parameters checks the parameters' defaults, which may name dimensions and
// other parameters: a pair's by its own name means the same component.
func (c checker) parameters(problem scope) error {
	names := []string{}
	for _, spec := range c.o.Parameters {
		names = append(names, spec.Name)
	}
	for _, spec := range c.o.Parameters {
		if spec.Default == nil {
			continue
		}
		s := scope{}
		for _, dim := range c.o.Shape {
			s[dim] = "dimension"
		}
		for _, other := range c.o.Parameters {
			for _, name := range other.Components() {
				s[name] = "parameter"
			}
			if len(other.Suffix) == len(spec.Suffix) {
				s[other.Name] = "parameter"
			}
		}
		if err := c.uses(*spec.Default, s); err != nil {
			return err
		}
	}
	if _, cycle := expr.DependencyOrder(names, c.o.parameterNeeds); cycle != nil {
		f := c.o.parameter(cycle[0]).Default
		return &Error{File: c.file, Line: f.Line, Column: f.Column, Message: "the parameters' defaults need each other: " + strings.Join(cycle, " -> ")}
	}
	return nil
}

// definitions checks a list of definitions that may use a scope and each other.
func (c checker) definitions(definitions []Definition, what string, s scope) error {
	s = s.clone()
	s["math"] = "math mode"
	for _, d := range definitions {
		if err := c.uses(d.Formula, s); err != nil {
			return err
		}
	}
	if _, cycle := definitionOrder(definitions); cycle != nil {
		for _, d := range definitions {
			if d.Name == cycle[0] {
				return &Error{File: c.file, Line: d.Formula.Line, Column: d.Formula.Column, Message: fmt.Sprintf("the %ss need each other: %s", what, strings.Join(cycle, " -> "))}
			}
		}
	}
	return nil
}

// problemFormulas checks all other expressions over a problem.
func (c checker) problemFormulas(problem scope) error {
	s := problem.clone()
	s["math"] = "math mode"
	formulas := []Formula{c.o.Bytes, c.o.Flops, c.o.ATol, c.o.RTol}
	for _, r := range c.o.Requires {
		formulas = append(formulas, r.That)
		for _, part := range r.parts {
			if f, ok := part.(Formula); ok {
				formulas = append(formulas, f)
			}
		}
	}
	for _, t := range c.o.Tensors {
		formulas = append(formulas, t.Shape...)
		if t.Scale != nil {
			formulas = append(formulas, *t.Scale)
		}
	}
	for _, f := range formulas {
		if err := c.uses(f, s); err != nil {
			return err
		}
	}
	auto := scope{}
	for _, name := range limitNames {
		auto[name] = "device limit"
	}
	for name, what := range problem {
		if what != "derived value" {
			auto[name] = what
		}
	}
	return c.uses(c.o.MathAuto, auto)
}

// preset sees that the preset sets parameters that exist.
func (c checker) preset() error {
	n := c.root.get("preset")
	if n == nil {
		return nil
	}
	for _, e := range n.entries {
		spec := c.o.parameter(e.key)
		if spec == nil {
			return &Error{File: c.file, Line: e.line, Column: e.column, Message: fmt.Sprintf("unknown parameter `%s`", e.key), Hint: nearestOrAll(e.key, "there are", c.o.parameterNames())}
		}
		if _, err := spec.parse(e.value.raw); err != nil {
			return &Error{File: c.file, Line: e.value.line, Column: e.value.column, Message: err.Error()}
		}
	}
	for _, spec := range c.o.Parameters {
		if spec.Default == nil && n.get(spec.Name) == nil {
			return &Error{File: c.file, Line: n.line, Column: n.column, Message: fmt.Sprintf("the preset leaves `%s` open, which has no default", spec.Name)}
		}
	}
	return nil
}

// template checks one template's names and expressions.
func (c checker) template(t *Template, n *node, problem scope) error {
	s := problem.clone()
	for i, tunable := range t.Tunables {
		at := n.get("tunables").entries[i]
		if err := c.declare(s, tunable.Name, "tunable", at.line, at.column); err != nil {
			return err
		}
	}
	for i, definition := range t.Derived {
		at := n.get("derived").entries[i]
		if err := c.declare(s, definition.Name, "derived value", at.line, at.column); err != nil {
			return err
		}
	}
	whenScope := problem.clone()
	for _, name := range limitNames {
		s[name], whenScope[name] = "device limit", "device limit"
	}
	s["math"], whenScope["math"] = "math mode", "math mode"
	if t.When != nil {
		if err := c.uses(*t.When, whenScope); err != nil {
			return err
		}
	}
	if err := c.definitions(t.Derived, "derived value", s); err != nil {
		return err
	}
	for _, f := range slices.Concat(t.Constraints, t.Block[:], t.Grid[:], []Formula{t.Shared}) {
		if err := c.uses(f, s); err != nil {
			return err
		}
	}
	return nil
}

func definitionOrder(definitions []Definition) (order []Definition, cycle []string) {
	byName := map[string]Definition{}
	var names []string
	for _, d := range definitions {
		byName[d.Name] = d
		names = append(names, d.Name)
	}
	sorted, cycle := expr.DependencyOrder(names, func(name string) []string { return byName[name].Formula.code.Names() })
	for _, name := range sorted {
		order = append(order, byName[name])
	}
	return order, cycle
}

// parameter gives the parameter with that name, or nil.
func (o *Operator) parameter(name string) *ParameterSpec {
	for i := range o.Parameters {
		if o.Parameters[i].Name == name {
			return &o.Parameters[i]
		}
	}
	return nil
}

func (o *Operator) parameterNames() []string {
	var names []string
	for _, spec := range o.Parameters {
		names = append(names, spec.Name)
	}
	return names
}

// parameterNeeds are the parameters that one's default names.
func (o *Operator) parameterNeeds(name string) []string {
	spec := o.parameter(name)
	if spec == nil || spec.Default == nil {
		return nil
	}
	var needs []string
	for _, used := range spec.Default.code.Names() {
		for _, other := range o.Parameters {
			if used == other.Name || slices.Contains(other.Components(), used) {
				needs = append(needs, other.Name)
			}
		}
	}
	return needs
}
