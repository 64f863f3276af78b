package operator

import (
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"autotune/internal/lists"
	"autotune/operator/tree"
	"autotune/space"
	"autotune/space/expr"
	"autotune/templates"
)

// Operator is a mathematical function as its op.yaml describes it. It is data: nothing in it
// changes after Load. In JSON expressions stand as op.yaml has them.
type Operator struct {
	Name       string            `json:"operator"`
	Summary    string            `json:"summary"`
	Shape      []string          `json:"shape"`             // the dimensions that a shape gives, in order
	Example    []int64           `json:"example,omitempty"` // a shape to try; nil if op.yaml names none
	Parameters []ParameterSpec   `json:"parameters"`
	Preset     map[string]string `json:"preset,omitempty"` // what runs when no parameter is set
	Derived    []Definition      `json:"derived"`          // each after those that it names
	Requires   []Requirement     `json:"-"`
	Arguments  []ArgumentSpec    `json:"tensors"`          // of its kernels, in order, scalars too
	Macros     Naming            `json:"macros,omitempty"` // how kernels know names
	MathModes  []string          `json:"math_modes"`
	MathAuto   Formula           `json:"math_auto"` // the mode that "auto" means
	// MathVariants are modes that round otherwise than another one, by their names, as tf32_even does than tf32.
	MathVariants map[string]string `json:"-"`
	MathAsk      *Source           `json:"-"`      // Python that asks PyTorch which mode it takes; nil: nobody asks
	Inputs       []string          `json:"inputs"` // distributions: a search uses the first, the gates all
	// Deterministic: every launch of a kernel must give the same bits.
	Deterministic  bool    `json:"-"`
	Bytes          Formula `json:"-"` // least bytes moved, for the roofline
	Flops          Formula `json:"-"`
	Right          string  `json:"reference"` // what says what is right: "reference.cu", "the default of template plain"
	Reference      Source  `json:"-"`
	referenceEntry string  // of Reference
	// ReferenceTemplate is the template whose default is the reference; "": it is a kernel of its own.
	ReferenceTemplate string                `json:"-"`
	Answers           *Answers              `json:"-"`                 // where right results come from; nil: a kernel
	Compare           *OwnKernel            `json:"compare,omitempty"` // nil: outputs are compared element by element
	FillKernels       map[string]*OwnKernel `json:"-"`                 // by name
	// Named: it is built in, or the user named the place that it was read from. Only then a Python file of it may run.
	Named     bool        `json:"-"`
	PyTorch   *PyTorch    `json:"pytorch,omitempty"` // nil: the operator has no PyTorch module
	Templates []*Template `json:"templates"`
	File      string      `json:"-"` // op.yaml, for messages
	exampleAt tree.Position
	files     map[string]string // all that it was read from, by name in its folder
	mentioned map[string]bool   // by its formulas
	plain     *Operator         // without the tensors of a problem's epilogue; nil: it has none of them
}

// Naming is how kernels know the names of an op.yaml.
type Naming string

// SameMacros are named as op.yaml has their names; others are in upper case.
const SameMacros Naming = "same"

func (n Naming) Macro(name string) string {
	if n == SameMacros {
		return name
	}
	return strings.ToUpper(name)
}

// Formula is an expression in op.yaml with its place in the file.
type Formula struct {
	Text string
	tree.Position
	code    *expr.Expr
	written *expr.Node // as the file has it, with its macros
	axis    string     // what `$` stands for there
}

func (f Formula) String() string { return f.Text }

// Never tells whether it is false for every configuration, as a formula that op.yaml leaves out is.
func (f Formula) Never() bool {
	root := f.code.Root()
	return root.Op == expr.OpConst && !root.Value.Truth()
}

func (f Formula) Code() *expr.Expr { return f.code }

// Definition is a name and the formula that gives its value.
type Definition struct {
	Name    string  `json:"name"`
	Formula Formula `json:"expression"`
}

// Requirement is a condition that a problem must meet.
type Requirement struct {
	That    Formula
	Because Interpolated
}

type ParameterType string

const (
	IntParameter   ParameterType = "int"
	FloatParameter ParameterType = "float"
	BoolParameter  ParameterType = "bool"
	WordParameter  ParameterType = "word" // one of its Choices
	// ExpressionParameter is a function of the names Of, made of Functions.
	ExpressionParameter ParameterType = "expression"

	intsParameter ParameterType = "ints" // how op.yaml calls an IntParameter with a component for each axis
)

var parameterTypes = []string{"int", "ints", "float", "bool", "word", "expression"}

// ParameterSpec describes one parameter. A pair named kernel is known to expressions as kernel_h and kernel_w, a triple
// as kernel_d, kernel_h and kernel_w. An expression named f is known as f, and as f_x where it names x.
type ParameterSpec struct {
	Name      string                `json:"name"`
	Summary   string                `json:"summary,omitempty"`
	Type      ParameterType         `json:"type"`
	Names     []string              `json:"names"`             // by which expressions know its components
	Default   *Formula              `json:"default,omitempty"` // nil: must be given
	Min       *expr.Value           `json:"min,omitempty"`
	Max       *expr.Value           `json:"max,omitempty"`
	Choices   []expr.Value          `json:"choices,omitempty"`
	Of        []string              `json:"of,omitempty"`        // what an expression may name
	Functions map[string]expr.Arity `json:"functions,omitempty"` // of an expression
	Axes      []string              `json:"axes,omitempty"`      // of an epilogue: the output's, as its tensors name them; nil: it has no tensors
	Apart     int                   `json:"-"`                   // tensors have the axes from that one on all or not at all; 0: any of them
	Later     bool                  `json:"-"`                   // where it has its default, a problem's text and macros leave it out
}

// Role says what a kernel does with an argument.
type Role string

const (
	Input     Role = "input"     // read; filled with the searched distribution, or its own
	Weight    Role = "weight"    // read; filled uniformly in [-scale, scale], or as its own fill says
	Output    Role = "output"    // written, and compared with the reference's
	InOut     Role = "inout"     // filled like an input before every launch, read, written and compared
	Workspace Role = "workspace" // read and written, of no meaning before and after a launch
	Scalar    Role = "scalar"    // passed by value
)

func (r Role) noun() string {
	if r == Weight || r == Workspace {
		return "a " + string(r)
	}
	return "an " + string(r)
}

// constantRole is op.yaml's role of an Input that is copied to the kernels' __constant__ variable of its name.
const constantRole Role = "constant"

var tensorRoles = []string{"input", "weight", "constant", "output", "inout", "workspace"}

// Filled tells whether a tensor holds what a problem's inputs are drawn from.
func (r Role) Filled() bool { return r == Input || r == Weight || r == InOut }

func (r Role) Written() bool { return r == Output || r == InOut || r == Workspace }

// Compared tells whether a tensor must be what the reference makes it.
func (r Role) Compared() bool { return r == Output || r == InOut }

type ArgumentSpec struct {
	Name   string `json:"name"`
	Role   Role   `json:"role"`
	Type   Type   `json:"type,omitempty"`    // of the elements; "": TypeBy names it
	TypeBy string `json:"type_by,omitempty"` // a parameter of words, which are Types
	Types  []Type `json:"-"`
	// OrderBy is the parameter of words that names its order in memory; "": it lies as its shape says.
	OrderBy string `json:"order,omitempty"`

	Shape []Formula `json:"shape,omitempty"` // of a tensor
	Scale *Formula  `json:"scale,omitempty"` // of a weight's values; nil: 1
	Fill  *FillSpec `json:"fill,omitempty"`  // nil: as its role and the search say
	Value *Formula  `json:"value,omitempty"` // of a scalar
	// Symbol is the __constant__ variable that it is copied to instead of being passed; "": it is passed.
	Symbol string `json:"symbol,omitempty"`
	Owner  string `json:"template,omitempty"` // whose launches alone take it, where they name it; "": the operator's

	ATol Formula `json:"atol,omitzero"` // of what is compared
	RTol Formula `json:"rtol,omitzero"`
}

// Source is a kernel's text and the files it includes, as read by Load.
type Source struct {
	File     string
	Text     string
	Includes map[string]string // name -> text, transitively
	alone    map[string]bool   // macros of other templates of its file that it needs; nil: all
}

func (s Source) MarshalText() ([]byte, error) { return []byte(s.File), nil }

// Template is one parameterised kernel that can serve some problems of an operator.
type Template struct {
	Name        string              `json:"template"`
	Summary     string              `json:"summary,omitempty"`
	Source      Source              `json:"source"`
	With        []Definition        `json:"with,omitempty"` // what it knows besides the problem's values; no macros
	When        *Formula            `json:"when,omitempty"` // nil: serves every problem
	Tunables    []space.Tunable     `json:"tunables"`
	Derived     []Definition        `json:"derived"` // each after those that it names
	Constraints []Formula           `json:"constraints"`
	Estimate    *Formula            `json:"estimate,omitempty"` // of the time, in a unit of the operator's own; nil: there is none
	Flags       []Interpolated      `json:"flags,omitempty"`    // of the compiler
	Free        []string            `json:"free,omitempty"`     // the dimensions that its kernel can take when it runs
	Keep        []string            `json:"keep,omitempty"`     // derived values that are constants of it even then
	TensorMaps  []*TensorMapSpec    `json:"tensor_maps,omitempty"`
	Launches    []LaunchSpec        `json:"launches"`
	Default     space.Configuration `json:"-"` // the untuned baseline

	like                    *Template // whose workspaces it has too; nil: none's
	kernel                  string    // the name of its kernel unless it gives another
	naming                  Naming    // the operator's
	at, launchAt, defaultAt tree.Position

	mentioned map[string]bool // by its formulas, except the estimate

	launchLimits func() []Formula
}

type TemplateDocument struct {
	*plainTemplate
	Default  space.Values `json:"default"`
	Warnings []string     `json:"warnings,omitempty"`
}

type plainTemplate Template

func (t *Template) MarshalJSON() ([]byte, error) {
	return json.Marshal(TemplateDocument{(*plainTemplate)(t), t.Default.Values, t.Warnings()})
}

func (o *Operator) Template(name string) (*Template, bool) {
	return lists.First(o.Templates, func(t *Template) bool { return t.Name == name })
}

func (o *Operator) parameter(name string) *ParameterSpec {
	for i := range o.Parameters {
		if o.Parameters[i].Name == name {
			return &o.Parameters[i]
		}
	}
	return nil
}

func (o *Operator) parameterNames() []string {
	return lists.Of(o.Parameters, func(spec ParameterSpec) string { return spec.Name })
}

func (o *Operator) parameterNeeds(name string) []string {
	spec := o.parameter(name)
	if spec == nil || spec.Default == nil {
		return nil
	}
	var needs []string
	for _, used := range spec.Default.code.Names() {
		for _, other := range o.Parameters {
			if used == other.Name || slices.Contains(other.Names, used) {
				needs = append(needs, other.Name)
			}
		}
	}
	return needs
}

func (o *Operator) argument(name string) int {
	return slices.IndexFunc(o.Arguments, func(a ArgumentSpec) bool { return a.Name == name })
}

func OperatorNames() []string {
	files, _ := fs.Glob(templates.FS, "*/op.yaml") // the pattern is well-formed: no error
	names := lists.Of(files, path.Dir)
	slices.Sort(names)
	return names
}

func Operators() ([]*Operator, error) {
	var operators []*Operator
	for _, name := range OperatorNames() {
		o, err := builtIn(name)
		if err != nil {
			return nil, err
		}
		operators = append(operators, o)
	}
	return operators, nil
}

// known are the built-in operators that were loaded before, by name: a list of problems asks for the same ones again
// and again.
var known sync.Map

func builtIn(name string) (*Operator, error) {
	if o, found := known.Load(name); found {
		return o.(*Operator), nil
	}
	o, err := Load(templates.FS, name)
	if err == nil {
		known.Store(name, o)
	}
	return o, err
}

func Find(name string) (*Operator, error) {
	names := OperatorNames()
	if !slices.Contains(names, name) {
		return nil, &RequestError{Message: "there is no operator `" + name + "`", Hint: tree.NearestOrAll(name, "there are", names)}
	}
	o, err := builtIn(name)
	if err != nil {
		return nil, err
	}
	return o.AsNamed(true), nil
}

// AsNamed is the operator as one that the user named, or did not.
func (o *Operator) AsNamed(named bool) *Operator {
	same := *o
	same.Named = named
	return &same
}

// Expressions and the like stand in JSON as op.yaml has them.

func (f Formula) MarshalText() ([]byte, error) { return []byte(f.Text), nil }

// IsZero tells whether op.yaml leaves it out.
func (f Formula) IsZero() bool { return f.Text == "" || f.Never() }

func (t Interpolated) MarshalText() ([]byte, error) { return []byte(t.Text), nil }

func (f FillSpec) MarshalText() ([]byte, error) { return []byte(f.String()), nil }
