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
	Inputs     []string            `json:"inputs"`            // distributions; a search uses the first
	Reference  string              `json:"reference"`         // what says what is right
	Compare    string              `json:"compare,omitempty"` // absent: element by element
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
	Choices any      `json:"choices,omitempty"` // integers or words
}

type argumentDocument struct {
	Name   string   `json:"name"`
	Role   string   `json:"role"`
	Type   string   `json:"type,omitempty"`
	TypeBy string   `json:"type_by,omitempty"` // in place of type: the parameter whose choices are the types
	Shape  []string `json:"shape,omitempty"`   // absent: a scalar
	Scale  string   `json:"scale,omitempty"`
	Fill   string   `json:"fill,omitempty"`     // absent: as the search's inputs
	Value  string   `json:"value,omitempty"`    // of a scalar
	Symbol string   `json:"symbol,omitempty"`   // the __constant__ variable that it is copied to
	Owner  string   `json:"template,omitempty"` // whose launches alone take it; absent: all do
	ATol   string   `json:"atol,omitempty"`     // of what is compared
	RTol   string   `json:"rtol,omitempty"`
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
	Source      string            `json:"source"`
	Headers     map[string]string `json:"headers,omitempty"`
	With        []definition      `json:"with,omitempty"` // what it knows besides the operator's names
	When        string            `json:"when,omitempty"` // absent: serves every problem
	Tunables    []tunableDocument `json:"tunables"`
	Derived     []definition      `json:"derived"`
	Constraints []string          `json:"constraints"`
	Estimate    string            `json:"estimate,omitempty"`
	Flags       []string          `json:"flags,omitempty"` // of the compiler
	Launches    []launchDocument  `json:"launches"`
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
	d.Reference = op.Right()
	if op.Compare != nil {
		d.Compare = op.Compare.String()
	}
	if op.SameMacros {
		d.Macros = "same"
	}
	for _, m := range op.Metrics {
		d.Metrics = append(d.Metrics, metricDocument{definition{m.Name, m.Formula.String()}, m.Best})
	}
	for _, p := range op.Parameters {
		one := parameterDocument{
			Name: p.Name, Summary: p.Summary, Type: string(p.Type), Names: p.Components(), Min: p.Min, Max: p.Max, Choices: choicesOf(p),
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
			Template: t.Name, Summary: t.Summary, Source: t.Source.File, Headers: t.Source.Headers, Tunables: []tunableDocument{}, Derived: definitions(t.Derived),
			Constraints: []string{}, Default: t.Default.Values, Warnings: t.Warnings(),
		}
		if len(t.With) > 0 {
			one.With = definitions(t.With)
		}
		for _, flag := range t.Flags {
			one.Flags = append(one.Flags, flag.Text)
		}
		for i := range t.Launches {
			one.Launches = append(one.Launches, launchOf(&t.Launches[i]))
		}
		if t.When != nil {
			one.When = t.When.String()
		}
		if t.Estimate != nil {
			one.Estimate = t.Estimate.String()
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

// launchDocument is a launch as op.yaml describes it.
type launchDocument struct {
	Entry       string   `json:"entry"`
	When        string   `json:"when,omitempty"` // absent: always
	Block       []string `json:"block"`
	Grid        []string `json:"grid"`
	Shared      string   `json:"shared"`
	Cluster     []string `json:"cluster,omitempty"` // absent: no clusters
	Cooperative string   `json:"cooperative,omitempty"`
	Dependent   string   `json:"dependent,omitempty"`
	Arguments   []string `json:"arguments,omitempty"` // absent: all
}

func launchOf(s *operator.LaunchSpec) launchDocument {
	d := launchDocument{Entry: s.Entry.Text, Block: axesOf(&s.Block), Grid: axesOf(&s.Grid), Shared: s.Shared.Text, Cluster: axesOf(s.Cluster), Arguments: s.Arguments}
	if s.When != nil {
		d.When = s.When.Text
	}
	if !s.Cooperative.Never() {
		d.Cooperative = s.Cooperative.Text
	}
	if !s.Dependent.Never() {
		d.Dependent = s.Dependent.Text
	}
	return d
}

func axesOf(formulas *[3]operator.Formula) []string {
	if formulas == nil {
		return nil
	}
	return []string{formulas[0].Text, formulas[1].Text, formulas[2].Text}
}

// choicesOf are a parameter's choices; nil: any value within its bounds.
func choicesOf(p operator.ParameterSpec) any {
	switch {
	case len(p.Words) > 0:
		return p.Words
	case len(p.Choices) > 0:
		return p.Choices
	}
	return nil
}

func argumentOf(a operator.ArgumentSpec) argumentDocument {
	d := argumentDocument{Name: a.Name, Role: string(a.Role), ATol: a.ATol.Text, RTol: a.RTol.Text}
	if a.TypeBy != nil {
		d.TypeBy = a.TypeBy.Name
	} else {
		d.Type = string(a.Type)
	}
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
	d.Symbol = a.Symbol
	if a.Owner != nil {
		d.Owner = a.Owner.Name
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
