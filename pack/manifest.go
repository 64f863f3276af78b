package pack

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"autotune/internal/lists"
	"autotune/space/expr"
)

// Schema names the format. A reader refuses other schemas, and ignores fields that it does not know.
const Schema = "autotune/pack/5"

// ManifestFile is the file of a pack that describes the others.
const ManifestFile = "manifest.json"

// Manifest says what is in a pack. docs/packs.md describes it for those who read it elsewhere.
type Manifest struct {
	Schema    string           `json:"schema"`
	Name      string           `json:"name"` // an identifier: the Python package's, and the prefix of C's tables
	Tool      string           `json:"tool,omitempty"`
	Operators []*Operator      `json:"operators"`
	Entries   []*Entry         `json:"entries"`
	Families  []*Family        `json:"families,omitempty"`
	General   []*General       `json:"general"`
	Types     map[string]int64 `json:"types"` // bytes of an element
	Files     map[string]File  `json:"files"` // all but the manifest, by their slash-separated paths
}

// File is what a file must be.
type File struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Operator is what a loader knows of an operator: enough to check a problem, to find its
// tensors' shapes and to choose a kernel.
type Operator struct {
	Name       string        `json:"name"`
	Summary    string        `json:"summary,omitempty"`
	Shape      []string      `json:"shape"`
	Parameters []Parameter   `json:"parameters"`
	Derived    []Definition  `json:"derived"` // each after those that it names
	Requires   []Requirement `json:"requires"`
	Tensors    []TensorSpec  `json:"tensors"` // the arguments of a call, in order
	Math       []string      `json:"math"`    // the modes
	MathAuto   Formula       `json:"math_auto"`
}

// Parameter is a parameter of an operator, with a component an axis.
type Parameter struct {
	Name       string      `json:"name"`
	Type       string      `json:"type"` // int, bool, float or word
	Components []Component `json:"components"`
	Min        *expr.Value `json:"min,omitempty"`
	Max        *expr.Value `json:"max,omitempty"`
	Choices    []int64     `json:"choices,omitempty"`
	Words      []string    `json:"words,omitempty"`
}

// Component is a number that formulas know by its name.
type Component struct {
	Name    string  `json:"name"`
	Default Formula `json:"default,omitzero"` // absent: it must be given
}

// Named is a name and its value.
type Named[N any] struct {
	Name  string `json:"name"`
	Value N      `json:"value"`
}

// Definition is a name and its value's formula.
type Definition = Named[Formula]

// Requirement is a condition that a problem must meet, and why, with {formulas}.
type Requirement struct {
	That    Formula `json:"that"`
	Because string  `json:"because"`
}

// TensorSpec is a tensor that a call takes.
type TensorSpec struct {
	Name   string    `json:"name"`
	Role   string    `json:"role"` // input, weight, output or inout
	Type   string    `json:"type,omitempty"`
	TypeBy string    `json:"type_by,omitempty"` // in place of type: the parameter that names it
	Shape  []Formula `json:"shape"`
	// OrderBy is the parameter that names the order in memory: nhwc has the second dimension last.
	OrderBy string `json:"order_by,omitempty"`
}

// Tuned is what a search found for an architecture, and what it found it for.
type Tuned struct {
	Operator string                `json:"operator"`
	Problem  string                `json:"problem"` // in words
	Values   map[string]expr.Value `json:"values"`  // of parameters' components; of an entry, of dimensions, too
	Math     string                `json:"math"`
	Auto     bool                  `json:"auto,omitempty"`     // nobody named the mode: PyTorch would take it
	Target   string                `json:"target"`             // what it is compiled for, as sm_90a
	Compiler string                `json:"compiler"`           // that made the files
	Device   string                `json:"device"`             // of the search
	Evidence json.RawMessage       `json:"evidence,omitempty"` // the best-config document, or the family's
}

// Entry is a tuned kernel for one problem. All that it launches is known.
type Entry struct {
	Tuned
	Code[int64]
	Time *Time `json:"time_ms,omitempty"` // on the device; absent: the file is for another architecture
}

// Code is a file and how it is launched. The numbers are int64, or formulas of a problem's values.
type Code[N comparable] struct {
	File       string        `json:"file"` // a cubin
	Source     string        `json:"source,omitempty"`
	Launches   []LaunchOf[N] `json:"launches"`
	Workspaces []Named[N]    `json:"workspaces"`        // bytes of memory that has no meaning before and after
	Scalars    []Named[N]    `json:"scalars,omitempty"` // what is passed by value: its bytes, the lowest first
}

// LaunchOf is one launch of a kernel for each problem, and the tensors, workspaces and scalars that it takes.
type LaunchOf[N comparable] struct {
	Entry       string   `json:"entry"`          // the symbol in the file
	When        *Formula `json:"when,omitempty"` // in a family; false: the launch is left out
	Grid        [3]N     `json:"grid"`
	Block       [3]N     `json:"block"`
	SharedBytes N        `json:"shared_bytes"`
	Cluster     [3]N     `json:"cluster,omitzero"`
	Cooperative bool     `json:"cooperative,omitempty"`
	Dependent   bool     `json:"dependent,omitempty"` // ignored for the first launch that is made
	Arguments   []string `json:"arguments"`

	Maps []TensorMap[N] `json:"maps,omitempty"` // which of the arguments are not passed as addresses
}

// Launch is one launch.
type Launch = LaunchOf[int64]

// TensorMap says that an argument is passed as a tensor map (CUtensorMap): 128 bytes by value, that tell Hopper's copy
// engine where a tensor is and what a box of it is. They are the tensor's address, seven words and zeros.
type TensorMap[N any] struct {
	At    int `json:"at"` // index among the launch's arguments
	Words []N `json:"words"`
}

// A tensor map is mapWords of 8 bytes: the address, those in the manifest, and zeros.
const mapWords, manifestMapWords = 16, 7

// Time is a median in milliseconds with its 95 % interval.
type Time struct {
	Median  float64    `json:"median"`
	CI95    [2]float64 `json:"ci95"`
	Samples int        `json:"samples"`
}

// General is the kernel that is right for every problem of an operator, in one math mode and
// for one type of what is read. It takes the Arguments, of which the first output is the last. The
// Sizes follow as a struct of 64-bit integers, those of floating point by their bits. The last
// argument is how many elements that output has.
type General struct {
	Operator string `json:"operator"`
	Math     string `json:"math"`
	Type     string `json:"type"`
	// Values are the parameters that it is compiled for. It takes any value of the others.
	Values    map[string]expr.Value `json:"values,omitempty"`
	File      string                `json:"file"` // PTX
	Source    string                `json:"source,omitempty"`
	Entry     string                `json:"entry"`
	Arguments []string              `json:"arguments"` // tensors, by their names
	Sizes     []string              `json:"sizes"`
}

// Formula is an expression of op.yaml, which is one of Python's.
type Formula struct{ *expr.Expr }

// UnmarshalText parses it.
func (f *Formula) UnmarshalText(text []byte) (err error) {
	f.Expr, err = expr.Parse(string(text))
	if err != nil {
		return fmt.Errorf("the formula %.60q: %w", text, err)
	}
	return nil
}

// MarshalText writes it as op.yaml has it.
func (f Formula) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// Eval evaluates it.
func (f Formula) Eval(values map[string]expr.Value) (expr.Value, error) {
	if f.Expr == nil {
		return expr.Value{}, errors.New("the manifest lacks the formula")
	}
	return f.Expr.Eval(values)
}

// names are those that formulas of the operator's kernels may use.
func (o *Operator) names() []string {
	derived := lists.Of(o.Derived, func(d Definition) string { return d.Name })
	return slices.Concat(o.Shape, o.components(), []string{"arch", "math"}, derived)
}

// Taken are the names of what a call takes.
func (o *Operator) Taken() []string {
	return lists.Of(o.Tensors, func(t TensorSpec) string { return t.Name })
}

// operator finds an operator by its name; nil if there is none.
func (m *Manifest) operator(name string) *Operator {
	o, _ := lists.First(m.Operators, func(o *Operator) bool { return o.Name == name })
	return o
}
