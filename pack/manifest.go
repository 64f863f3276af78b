package pack

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"autotune/internal/lists"
	"autotune/space/expr"
)

// Schema names the format of manifests. A reader refuses other schemas and ignores fields that it does not know.
const Schema = "autotune/pack/5"

// ManifestFile is the name of the file in a pack that describes all other files.
const ManifestFile = "manifest.json"

// Manifest describes a pack's contents. docs/packs.md explains the manifest's fields for programs in other languages.
type Manifest struct {
	Schema    string           `json:"schema"`
	Name      string           `json:"name"` // names the Python package and prefixes the C tables
	Tool      string           `json:"tool,omitempty"`
	Operators []*Operator      `json:"operators"`
	Entries   []*Entry         `json:"entries"`
	Families  []*Family        `json:"families,omitempty"`
	General   []*General       `json:"general"`
	Types     map[string]int64 `json:"types"` // bytes of an element of each type
	Files     map[string]File  `json:"files"` // by slash-separated path; the manifest is not listed
}

// File is the size and the digest that a file of the pack must have.
type File struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Operator is the description of an operator with which a loader checks a problem, computes the shapes of the problem's
// tensors and chooses a kernel.
type Operator struct {
	Name       string        `json:"name"`
	Summary    string        `json:"summary,omitempty"`
	Shape      []string      `json:"shape"`
	Parameters []Parameter   `json:"parameters"`
	Derived    []Definition  `json:"derived"` // each may use the names defined before it
	Requires   []Requirement `json:"requires"`
	Tensors    []TensorSpec  `json:"tensors"` // the arguments of a call, in order
	Math       []string      `json:"math"`    // the math modes
	MathAuto   Formula       `json:"math_auto"`
}

// Parameter is a parameter of an operator. A parameter of an operator has one component for each axis that it applies
// to, as kernel_h and kernel_w.
type Parameter struct {
	Name       string      `json:"name"`
	Type       string      `json:"type"` // int, bool, float or word
	Components []Component `json:"components"`
	Min        *expr.Value `json:"min,omitempty"`
	Max        *expr.Value `json:"max,omitempty"`
	Choices    []int64     `json:"choices,omitempty"`
	Words      []string    `json:"words,omitempty"`
}

// Component is a number or word of a parameter, which formulas refer to by its name.
type Component struct {
	Name    string  `json:"name"`
	Default Formula `json:"default,omitzero"` // if absent, a problem must give the value
}

// Named is a value with its name.
type Named[N any] struct {
	Name  string `json:"name"`
	Value N      `json:"value"`
}

// Definition is a name with the formula that computes its value.
type Definition = Named[Formula]

// Requirement is a condition that a problem must meet, and the reason, a text with {formulas} in braces.
type Requirement struct {
	That    Formula `json:"that"`
	Because string  `json:"because"`
}

// TensorSpec describes a tensor that a call takes.
type TensorSpec struct {
	Name   string    `json:"name"`
	Role   string    `json:"role"` // input, weight, output or inout
	Type   string    `json:"type,omitempty"`
	TypeBy string    `json:"type_by,omitempty"` // instead of type: the parameter that names the type
	Shape  []Formula `json:"shape"`
	// OrderBy is the parameter that names the tensor's order in memory: with nhwc the second dimension lies last.
	OrderBy string `json:"order_by,omitempty"`
}

// Tuned holds what entries and families have in common: the operator, the values of its parameters, the target that the
// code was compiled for, and the search's documents.
type Tuned struct {
	Operator string                `json:"operator"`
	Problem  string                `json:"problem"` // the problem as text
	Values   map[string]expr.Value `json:"values"`  // of components, and of dimensions for an entry
	Math     string                `json:"math"`
	Auto     bool                  `json:"auto,omitempty"`     // the math mode is the one that PyTorch would use
	Target   string                `json:"target"`             // the architecture of the code, for example sm_90a
	Compiler string                `json:"compiler"`           // the compiler of the files
	Device   string                `json:"device"`             // the device of the search
	Evidence json.RawMessage       `json:"evidence,omitempty"` // a best-config document or a family's document
}

// Entry is a tuned kernel for one problem. The launches of an Entry contain plain numbers and no formulas.
type Entry struct {
	Tuned
	Code[int64]
	Time *Time `json:"time_ms,omitempty"` // absent if the file is for another architecture
}

// Code names a compiled file of the pack, and the launches that run the file's kernels. The type parameter N is int64,
// or Formula if the numbers of the launches depend on the problem.
type Code[N comparable] struct {
	File       string        `json:"file"` // a cubin
	Source     string        `json:"source,omitempty"`
	Launches   []LaunchOf[N] `json:"launches"`
	Workspaces []Named[N]    `json:"workspaces"`        // sizes in bytes of scratch memory
	Scalars    []Named[N]    `json:"scalars,omitempty"` // values passed by value, as little-endian bytes
}

// LaunchOf is one launch of a kernel, with the tensors, workspaces and scalars that the kernel takes.
type LaunchOf[N comparable] struct {
	Entry       string   `json:"entry"`          // the kernel's symbol in the file
	When        *Formula `json:"when,omitempty"` // only in families: if false, the launch is left out
	Grid        [3]N     `json:"grid"`
	Block       [3]N     `json:"block"`
	SharedBytes N        `json:"shared_bytes"`
	Cluster     [3]N     `json:"cluster,omitzero"`
	Cooperative bool     `json:"cooperative,omitempty"`
	Dependent   bool     `json:"dependent,omitempty"` // programmatic dependent launch; ignored for the first
	Arguments   []string `json:"arguments"`

	Maps []TensorMap[N] `json:"maps,omitempty"` // the arguments passed as tensor maps
}

// Launch is a launch whose extents and sizes are numbers, not formulas.
type Launch = LaunchOf[int64]

// TensorMap says that an argument is passed as a tensor map (CUtensorMap). A tensor map is 128 bytes, passed by value,
// that describe to Hopper's copy engine a tensor and the box to copy from it: the tensor's address, the seven Words,
// and zeros.
type TensorMap[N any] struct {
	At    int `json:"at"` // index among the launch's arguments
	Words []N `json:"words"`
}

// A tensor map has mapWords words of 8 bytes: the tensor's address, manifestMapWords words, and zeros.
const mapWords, manifestMapWords = 16, 7

// Time is a median time in milliseconds with its 95 % confidence interval.
type Time struct {
	Median  float64    `json:"median"`
	CI95    [2]float64 `json:"ci95"`
	Samples int        `json:"samples"`
}

// General is a kernel that is correct for every problem of an operator, in one math mode and for one type of inputs.
// The parameters of a general kernel are pointers to the tensors in Arguments, of which the last is the first output;
// then a struct with the Sizes as 64-bit integers (of a floating-point number, the bits); and finally the number of
// elements of the first output.
type General struct {
	Operator string `json:"operator"`
	Math     string `json:"math"`
	Type     string `json:"type"`
	// Values are the values of those parameters that the general kernel was compiled for; the kernel serves any values
	// of all other parameters.
	Values    map[string]expr.Value `json:"values,omitempty"`
	File      string                `json:"file"` // PTX
	Source    string                `json:"source,omitempty"`
	Entry     string                `json:"entry"`
	Arguments []string              `json:"arguments"` // names of tensors
	Sizes     []string              `json:"sizes"`
}

// Formula is an expression in the language of op.yaml, which is a subset of Python.
type Formula struct{ *expr.Expr }

// UnmarshalText parses a formula.
func (f *Formula) UnmarshalText(text []byte) (err error) {
	f.Expr, err = expr.Parse(string(text))
	if err != nil {
		return fmt.Errorf("the formula %.60q: %w", text, err)
	}
	return nil
}

// MarshalText writes the formula as op.yaml would.
func (f Formula) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// Eval computes the formula's value from the values of the names in it.
func (f Formula) Eval(values map[string]expr.Value) (expr.Value, error) {
	if f.Expr == nil {
		return expr.Value{}, errors.New("the manifest lacks the formula")
	}
	return f.Expr.Eval(values)
}

// names returns the names that formulas of the operator's kernels may use.
func (o *Operator) names() []string {
	derived := lists.Of(o.Derived, func(d Definition) string { return d.Name })
	return slices.Concat(o.Shape, o.components(), []string{"arch", "math"}, derived)
}

// Taken returns the names of the tensors that a call takes.
func (o *Operator) Taken() []string {
	return lists.Of(o.Tensors, func(t TensorSpec) string { return t.Name })
}

// operator finds an operator by its name, and returns nil if there is none.
func (m *Manifest) operator(name string) *Operator {
	o, _ := lists.First(m.Operators, func(o *Operator) bool { return o.Name == name })
	return o
}
