package main

import (
	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/operator"
)

// operatorDocument is what `ops --json` writes of an operator. Expressions are
// as op.yaml has them.
type operatorDocument struct {
	Operator   string              `json:"operator"`
	Summary    string              `json:"summary"`
	Shape      []string            `json:"shape"`
	Example    []int64             `json:"example,omitempty"`
	Parameters []parameterDocument `json:"parameters"`
	Preset     map[string]string   `json:"preset,omitempty"` // what runs when no parameter is set
	Derived    []definition        `json:"derived"`
	Tensors    []argumentDocument  `json:"tensors"`          // what the kernels take, scalars too
	Macros     string              `json:"macros,omitempty"` // "same": named as here; absent: in upper case
	Metrics    []metricDocument    `json:"metrics,omitempty"`
	MathModes  []string            `json:"math_modes"`
	MathAuto   string              `json:"math_auto"`
	Inputs     []string            `json:"inputs"` // distributions; a search uses the first
	Templates  []templateDocument  `json:"templates"`
}

type parameterDocument struct {
	Name    string   `json:"name"`
	Summary string   `json:"summary,omitempty"`
	Type    string   `json:"type"`
	Names   []string `json:"names"`             // by which expressions know its components
	Default *string  `json:"default,omitempty"` // an expression; absent: must be set
	Min     *int64   `json:"min,omitempty"`
	Max     *int64   `json:"max,omitempty"`
	Choices []int64  `json:"choices,omitempty"`
}

type argumentDocument struct {
	Name  string   `json:"name"`
	Role  string   `json:"role"`
	Type  string   `json:"type"`
	Shape []string `json:"shape,omitempty"` // absent: a scalar
	Scale string   `json:"scale,omitempty"`
	Fill  string   `json:"fill,omitempty"`  // absent: as the search's inputs
	Value string   `json:"value,omitempty"` // of a scalar
	ATol  string   `json:"atol,omitempty"`  // of what is compared
	RTol  string   `json:"rtol,omitempty"`
}

type metricDocument struct {
	definition
	Best string `json:"best,omitempty"` // max or min
}

type definition struct {
	Name       string `json:"name"`
	Expression string `json:"expression"`
}

type templateDocument struct {
	Template    string            `json:"template"`
	Summary     string            `json:"summary,omitempty"`
	When        string            `json:"when,omitempty"` // absent: serves every problem
	Tunables    []tunableDocument `json:"tunables"`
	Derived     []definition      `json:"derived"`
	Constraints []string          `json:"constraints"`
	Default     space.Values      `json:"default"`
	Warnings    []string          `json:"warnings,omitempty"`
}

type tunableDocument struct {
	Name   string       `json:"name"`
	Values []expr.Value `json:"values"`
}

func documentOf(op *operator.Operator) operatorDocument {
	d := operatorDocument{
		Operator: op.Name, Summary: op.Summary, Shape: op.Shape, Example: op.Example, Parameters: []parameterDocument{},
		Preset: op.Preset, Derived: definitions(op.Derived), MathModes: op.MathModes, MathAuto: op.MathAuto.String(), Inputs: op.Inputs,
	}
	if op.SameMacros {
		d.Macros = "same"
	}
	for _, m := range op.Metrics {
		d.Metrics = append(d.Metrics, metricDocument{definition{m.Name, m.Formula.String()}, m.Best})
	}
	for _, p := range op.Parameters {
		one := parameterDocument{
			Name: p.Name, Summary: p.Summary, Type: string(p.Type), Names: p.Components(), Min: p.Min, Max: p.Max, Choices: p.Choices,
		}
		if p.Default != nil {
			one.Default = &p.Default.Text
		}
		d.Parameters = append(d.Parameters, one)
	}
	for _, a := range op.Arguments {
		d.Tensors = append(d.Tensors, argumentOf(a))
	}
	for _, t := range op.Templates {
		one := templateDocument{
			Template: t.Name, Summary: t.Summary, Tunables: []tunableDocument{}, Derived: definitions(t.Derived),
			Constraints: []string{}, Default: t.Default.Values, Warnings: t.Warnings(),
		}
		if t.When != nil {
			one.When = t.When.String()
		}
		for _, tunable := range t.Tunables {
			one.Tunables = append(one.Tunables, tunableDocument{tunable.Name, tunable.Values})
		}
		for _, constraint := range t.Constraints {
			one.Constraints = append(one.Constraints, constraint.String())
		}
		d.Templates = append(d.Templates, one)
	}
	return d
}

func argumentOf(a operator.ArgumentSpec) argumentDocument {
	d := argumentDocument{Name: a.Name, Role: string(a.Role), Type: string(a.Type), ATol: a.ATol.Text, RTol: a.RTol.Text}
	for _, dim := range a.Shape {
		d.Shape = append(d.Shape, dim.Text)
	}
	if a.Scale != nil {
		d.Scale = a.Scale.Text
	}
	if a.Fill != nil {
		d.Fill = a.Fill.String()
	}
	if a.Value != nil {
		d.Value = a.Value.Text
	}
	return d
}

func definitions(list []operator.Definition) []definition {
	all := []definition{}
	for _, d := range list {
		all = append(all, definition{d.Name, d.Formula.String()})
	}
	return all
}
