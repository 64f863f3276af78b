package operator

import (
	"encoding/json"

	"autotune/space"
)

// This file is how an operator describes itself in JSON. Expressions stand there as
// op.yaml has them.

// Document is an operator as its JSON has it.
type Document struct {
	Operator   string              `json:"operator"`
	Summary    string              `json:"summary"`
	Shape      []string            `json:"shape"`
	Example    []int64             `json:"example,omitempty"`
	Parameters []ParameterDocument `json:"parameters"`
	Preset     map[string]string   `json:"preset,omitempty"` // what runs when no parameter is set
	Derived    []Definition        `json:"derived"`
	Tensors    []ArgumentDocument  `json:"tensors"`          // what the kernels take, scalars too
	Macros     string              `json:"macros,omitempty"` // "same": named as here; absent: in upper case
	Metrics    []Metric            `json:"metrics,omitempty"`
	MathModes  []string            `json:"math_modes"`
	MathAuto   Formula             `json:"math_auto"`
	Inputs     []string            `json:"inputs"`            // distributions; a search uses the first
	Reference  string              `json:"reference"`         // what says what is right
	Compare    *CompareSpec        `json:"compare,omitempty"` // absent: element by element
	Templates  []TemplateDocument  `json:"templates"`
}

// ParameterDocument is a parameter there.
type ParameterDocument struct {
	Name    string        `json:"name"`
	Summary string        `json:"summary,omitempty"`
	Type    ParameterType `json:"type"`
	Names   []string      `json:"names"`             // by which expressions know its components
	Default *Formula      `json:"default,omitempty"` // absent: must be set
	Min     *int64        `json:"min,omitempty"`
	Max     *int64        `json:"max,omitempty"`
	Choices any           `json:"choices,omitempty"` // integers or words
}

// ArgumentDocument is an argument of the kernels there.
type ArgumentDocument struct {
	Name   string    `json:"name"`
	Role   Role      `json:"role"`
	Type   Type      `json:"type,omitempty"`
	TypeBy string    `json:"type_by,omitempty"` // in place of type: the parameter whose choices are the types
	Shape  []Formula `json:"shape,omitempty"`   // absent: a scalar
	Scale  *Formula  `json:"scale,omitempty"`
	Fill   *FillSpec `json:"fill,omitempty"`     // absent: as the search's inputs
	Value  *Formula  `json:"value,omitempty"`    // of a scalar
	Symbol string    `json:"symbol,omitempty"`   // the __constant__ variable that it is copied to
	Owner  string    `json:"template,omitempty"` // whose launches alone take it; absent: all do
	ATol   Formula   `json:"atol,omitzero"`      // of what is compared
	RTol   Formula   `json:"rtol,omitzero"`
}

// TemplateDocument is a template there.
type TemplateDocument struct {
	Template    string            `json:"template"`
	Summary     string            `json:"summary,omitempty"`
	Source      string            `json:"source"`
	Headers     map[string]string `json:"headers,omitempty"`
	With        []Definition      `json:"with,omitempty"` // what it knows besides the operator's names
	When        *Formula          `json:"when,omitempty"` // absent: serves every problem
	Tunables    []space.Tunable   `json:"tunables"`
	Derived     []Definition      `json:"derived"`
	Constraints []Formula         `json:"constraints"`
	Estimate    *Formula          `json:"estimate,omitempty"`
	Flags       []Interpolated    `json:"flags,omitempty"` // of the compiler
	Launches    []LaunchSpec      `json:"launches"`
	Default     space.Values      `json:"default"`
	Warnings    []string          `json:"warnings,omitempty"`
}

// MarshalJSON writes the operator's document.
func (o *Operator) MarshalJSON() ([]byte, error) { return json.Marshal(o.Document()) }

// Document describes the operator.
func (o *Operator) Document() Document {
	d := Document{
		Operator: o.Name, Summary: o.Summary, Shape: o.Shape, Example: o.Example, Parameters: []ParameterDocument{},
		Preset: o.Preset, Derived: listed(o.Derived), Metrics: o.Metrics, MathModes: o.MathModes, MathAuto: o.MathAuto,
		Inputs: o.Inputs, Reference: o.Right(), Compare: o.Compare,
	}
	if o.SameMacros {
		d.Macros = "same"
	}
	for _, p := range o.Parameters {
		one := ParameterDocument{
			Name: p.Name, Summary: p.Summary, Type: p.Type, Names: p.Components(), Default: p.Default, Min: p.Min, Max: p.Max,
		}
		if len(p.Words) > 0 {
			one.Choices = p.Words
		} else if len(p.Choices) > 0 {
			one.Choices = p.Choices
		}
		d.Parameters = append(d.Parameters, one)
	}
	for _, a := range o.Arguments {
		d.Tensors = append(d.Tensors, a.document())
	}
	for _, t := range o.Templates {
		d.Templates = append(d.Templates, TemplateDocument{
			Template: t.Name, Summary: t.Summary, Source: t.Source.File, Headers: t.Source.Headers, With: t.With, When: t.When,
			Tunables: listed(t.Tunables), Derived: listed(t.Derived), Constraints: listed(t.Constraints), Estimate: t.Estimate,
			Flags: t.Flags, Launches: t.Launches, Default: t.Default.Values, Warnings: t.Warnings(),
		})
	}
	return d
}

func (a ArgumentSpec) document() ArgumentDocument {
	d := ArgumentDocument{
		Name: a.Name, Role: a.Role, Type: a.Type, Shape: a.Shape, Scale: a.Scale, Fill: a.Fill, Value: a.Value,
		Symbol: a.Symbol, ATol: a.ATol, RTol: a.RTol,
	}
	if a.TypeBy != nil {
		d.Type, d.TypeBy = "", a.TypeBy.Name
	}
	if a.Owner != nil {
		d.Owner = a.Owner.Name
	}
	return d
}

// listed is a list that JSON writes as [] where it is empty.
func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// MarshalText writes an expression as op.yaml has it.
func (f Formula) MarshalText() ([]byte, error) { return []byte(f.Text), nil }

// IsZero tells whether op.yaml leaves it out.
func (f Formula) IsZero() bool { return f.Text == "" || f.Never() }

// MarshalText writes a text as op.yaml has it.
func (t Interpolated) MarshalText() ([]byte, error) { return []byte(t.Text), nil }

// MarshalText tells how outputs are compared.
func (c *CompareSpec) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// MarshalText tells what a tensor is filled with.
func (f FillSpec) MarshalText() ([]byte, error) { return []byte(f.String()), nil }
