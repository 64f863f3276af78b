package operator

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"autotune/space/expr"
)

// The parts of an operator that are mappings of their own: parameters,
// requirements, tensors and templates.

func (d decoder) parameters(n *node) ([]ParameterSpec, error) {
	if n.kind != mappingNode {
		return nil, d.fault(n, "parameters must be a mapping of names to descriptions; this is %s", n.kind)
	}
	var specs []ParameterSpec
	for _, e := range n.entries {
		if err := d.keyName(e); err != nil {
			return nil, err
		}
		spec, err := d.parameter(e)
		if err != nil {
			return nil, err
		}
		specs = append(specs, spec)
	}
	return specs, nil
}

func (d decoder) parameter(e entry) (ParameterSpec, error) {
	s := ParameterSpec{Name: e.key, Type: IntParameter}
	var pair, triple bool
	bound := func(to **int64) func(*node) error {
		return func(n *node) error {
			v, err := d.integer(n)
			*to = &v
			return err
		}
	}
	err := d.fields(e.value, "a parameter", nil, map[string]func(*node) error{
		"summary": d.into(&s.Summary, d.text),
		"pair":    func(n *node) (err error) { pair, err = d.boolean(n); return err },
		"triple":  func(n *node) (err error) { triple, err = d.boolean(n); return err },
		"type": func(n *node) error {
			s.Type = ParameterType(n.raw)
			if s.Type != IntParameter && s.Type != BoolParameter {
				return d.unknown(n, "type", n.raw, []string{string(IntParameter), string(BoolParameter)})
			}
			return nil
		},
		"default": func(n *node) error {
			f, err := d.formula(n)
			s.Default = &f
			return err
		},
		"min": bound(&s.Min),
		"max": bound(&s.Max),
		"choices": func(n *node) error {
			items, err := d.list(n, "choices")
			for _, item := range items {
				v, fault := d.integer(item)
				if fault != nil {
					return fault
				}
				s.Choices = append(s.Choices, v)
			}
			return err
		},
	})
	if err != nil {
		return s, err
	}
	switch {
	case pair && triple:
		return s, d.fault(e.value, "`%s` cannot be a pair and a triple", s.Name)
	case (pair || triple) && s.Type == BoolParameter:
		return s, d.fault(e.value, "`%s`: pairs and triples hold integers", s.Name)
	case s.Min != nil && s.Max != nil && *s.Min > *s.Max:
		return s, d.fault(e.value, "`%s`: min %d is above max %d", s.Name, *s.Min, *s.Max)
	case triple:
		s.Suffix = []string{"_d", "_h", "_w"}
	case pair:
		s.Suffix = []string{"_h", "_w"}
	default:
		s.Suffix = []string{""}
	}
	return s, nil
}

func (d decoder) preset(n *node) (map[string]string, error) {
	if n.kind != mappingNode {
		return nil, d.fault(n, "preset must be a mapping of parameters to values; this is %s", n.kind)
	}
	preset := map[string]string{}
	for _, e := range n.entries {
		if !e.value.isScalar() || e.value.kind == nullNode {
			return nil, d.fault(e.value, "`%s` must have a value as --set takes it, as 3, 3x5 or true", e.key)
		}
		preset[e.key] = e.value.raw
	}
	return preset, nil
}

func (d decoder) requirements(n *node) ([]Requirement, error) {
	items, err := d.list(n, "requires")
	if err != nil {
		return nil, err
	}
	var requirements []Requirement
	for _, item := range items {
		var r Requirement
		var because *node
		err := d.fields(item, "a requirement", []string{"that", "because"}, map[string]func(*node) error{
			"that":    d.formulaInto(&r.That),
			"because": func(n *node) (err error) { because = n; r.Because, err = d.text(n); return err },
		})
		if err != nil {
			return nil, err
		}
		if r.parts, err = d.interpolation(because); err != nil {
			return nil, err
		}
		requirements = append(requirements, r)
	}
	return requirements, nil
}

// interpolation takes "a {kernel_h}x{kernel_w} kernel" apart.
func (d decoder) interpolation(n *node) ([]any, error) {
	var parts []any
	rest, at := n.raw, n.column
	for {
		plain, after, found := strings.Cut(rest, "{")
		parts = append(parts, plain)
		if !found {
			return parts, nil
		}
		at += len([]rune(plain)) + 1
		text, tail, closed := strings.Cut(after, "}")
		if !closed {
			return nil, &Error{File: d.file, Line: n.line, Column: at - 1, Message: "`{` without `}`"}
		}
		f, err := d.parse(text, n.line, at)
		if err != nil {
			return nil, err
		}
		parts = append(parts, f)
		rest, at = tail, at+len([]rune(text))+1
	}
}

func (d decoder) tensors(n *node) ([]TensorSpec, error) {
	items, err := d.list(n, "tensors")
	if err != nil {
		return nil, err
	}
	var tensors []TensorSpec
	outputs := 0
	for _, item := range items {
		var t TensorSpec
		err := d.fields(item, "a tensor", []string{"name", "role", "shape"}, map[string]func(*node) error{
			"name": d.into(&t.Name, d.identifier),
			"role": func(n *node) error {
				t.Role = Role(n.raw)
				if !slices.Contains([]Role{Input, Weight, Output}, t.Role) {
					return d.unknown(n, "role", n.raw, []string{string(Input), string(Weight), string(Output)})
				}
				return nil
			},
			"shape": func(n *node) (err error) { t.Shape, err = d.formulas(n, "shape"); return err },
			"scale": func(n *node) error {
				f, err := d.formula(n)
				t.Scale = &f
				return err
			},
		})
		if err != nil {
			return nil, err
		}
		for _, other := range tensors {
			if other.Name == t.Name {
				return nil, d.fault(item.get("name"), "two tensors are called `%s`", t.Name)
			}
		}
		if t.Scale != nil && t.Role != Weight {
			return nil, d.fault(item.get("scale"), "only a weight has a scale; `%s` is an %s", t.Name, t.Role)
		}
		if t.Role == Output {
			outputs++
		}
		tensors = append(tensors, t)
	}
	if outputs != 1 {
		return nil, d.fault(n, "the tensors have %d outputs; an operator has one", outputs)
	}
	return tensors, nil
}

func (d decoder) templates(n *node) ([]*Template, error) {
	items, err := d.list(n, "templates")
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, d.fault(n, "an operator needs at least one template")
	}
	var templates []*Template
	for _, item := range items {
		t, err := d.template(item)
		if err != nil {
			return nil, err
		}
		for _, other := range templates {
			if other.Name == t.Name {
				return nil, d.fault(item.get("name"), "two templates are called `%s`", t.Name)
			}
		}
		templates = append(templates, t)
	}
	return templates, nil
}

func (d decoder) template(n *node) (*Template, error) {
	t := &Template{Shared: d.constant("0"), Default: map[string]expr.Value{}, line: n.line}
	err := d.fields(n, "a template", []string{"name", "source", "launch"}, map[string]func(*node) error{
		"name":    d.into(&t.Name, d.identifier),
		"summary": d.into(&t.Summary, d.text),
		"source":  d.into(&t.Source.File, d.fileName),
		"when": func(n *node) error {
			f, err := d.formula(n)
			t.When = &f
			return err
		},
		"tunables": func(n *node) error {
			if n.kind != mappingNode {
				return d.fault(n, "tunables must be a mapping of names to lists of values; this is %s", n.kind)
			}
			for _, e := range n.entries {
				tunable, err := d.tunable(e)
				if err != nil {
					return err
				}
				t.Tunables = append(t.Tunables, tunable)
			}
			return nil
		},
		"derived":     func(n *node) (err error) { t.Derived, err = d.definitions(n, "derived"); return err },
		"constraints": func(n *node) (err error) { t.Constraints, err = d.formulas(n, "constraints"); return err },
		"launch": func(n *node) error {
			return d.fields(n, "launch", []string{"block", "grid"}, map[string]func(*node) error{
				"block": d.axes(&t.Block, "block"), "grid": d.axes(&t.Grid, "grid"), "shared": d.formulaInto(&t.Shared)})
		},
		"default": func(n *node) error { return nil }, // needs the tunables: below
	})
	if err != nil {
		return t, err
	}
	return t, d.defaults(n, t)
}

// defaults reads the default configuration: one of its values for each tunable.
func (d decoder) defaults(n *node, t *Template) error {
	given := n.get("default")
	if given == nil {
		if len(t.Tunables) == 0 {
			return nil
		}
		return d.fault(n, "template `%s` lacks the key `default`: one value for each tunable", t.Name)
	}
	readers := map[string]func(*node) error{}
	var names []string
	for _, tunable := range t.Tunables {
		names = append(names, tunable.Name)
		readers[tunable.Name] = func(n *node) error {
			v, err := d.value(n)
			if err != nil {
				return err
			}
			if !slices.Contains(tunable.Values, v) {
				return &Error{File: d.file, Line: n.line, Column: n.column,
					Message: fmt.Sprintf("the default %s=%v is not among its values", tunable.Name, v),
					Hint:    fmt.Sprintf("they are %v", tunable.Values)}
			}
			t.Default[tunable.Name] = v
			return nil
		}
	}
	return d.fields(given, "default", names, readers)
}

// syntax places a fault of an expression in the file.
func (d decoder) syntax(text string, line, column int, err error) error {
	e := &Error{File: d.file, Line: line, Column: column}
	var fault *expr.SyntaxError
	if errors.As(err, &fault) {
		e.Column += max(0, fault.Column-1)
		e.Message = fmt.Sprintf("bad expression `%s`: %s", text, fault.Message)
	} else {
		e.Message = fmt.Sprintf("bad expression `%s`: %v", text, err)
	}
	return e
}
