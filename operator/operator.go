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

// Operator is a mathematical function as its op.yaml describes it. An Operator does not change after Load. In JSON,
// expressions have the same text as in op.yaml.
type Operator struct {
	Name       string            `json:"operator"`
	Summary    string            `json:"summary"`
	Shape      []string          `json:"shape"`             // the dimensions that a shape gives, in order
	Example    []int64           `json:"example,omitempty"` // a shape to try; nil if op.yaml has none
	Parameters []ParameterSpec   `json:"parameters"`
	Preset     map[string]string `json:"preset,omitempty"` // parameters to use if the user sets none
	Derived    []Definition      `json:"derived"`          // each after the values that it uses
	Requires   []Requirement     `json:"-"`
	Arguments  []ArgumentSpec    `json:"tensors"`          // of its kernels, in order, including scalars
	Macros     Naming            `json:"macros,omitempty"` // the case of macro names
	MathModes  []string          `json:"math_modes"`
	MathAuto   Formula           `json:"math_auto"` // the mode that "auto" means
	// MathVariants maps a math mode to the mode from which it differs only in rounding, for example tf32_even to tf32.
	MathVariants map[string]string `json:"-"`
	MathAsk      *Source           `json:"-"`      // Python that asks PyTorch which mode it takes; nil: nobody asks
	Inputs       []string          `json:"inputs"` // distributions: a search uses the first, the gates all
	// Deterministic says that every launch of a kernel must give the same bits.
	Deterministic  bool    `json:"-"`
	Bytes          Formula `json:"-"` // least bytes moved, for the roofline
	Flops          Formula `json:"-"`
	Right          string  `json:"reference"` // what says what is right: "reference.cu", "the default of template plain"
	Reference      Source  `json:"-"`
	referenceEntry string  // kernel in Reference
	// ReferenceTemplate names the template whose default is the reference; "" if the reference is a kernel of its own.
	ReferenceTemplate string                `json:"-"`
	Answers           *Answers              `json:"-"`                 // where right results come from; nil: a kernel
	Compare           *OwnKernel            `json:"compare,omitempty"` // nil: outputs are compared element by element
	FillKernels       map[string]*OwnKernel `json:"-"`                 // by name
	// Named says that the operator is built in or was loaded from a place that the user named. The Python files of an
	// operator run only if its field Named is true.
	Named     bool        `json:"-"`
	PyTorch   *PyTorch    `json:"pytorch,omitempty"` // nil: the operator has no PyTorch module
	Templates []*Template `json:"templates"`
	File      string      `json:"-"` // op.yaml, for messages
	exampleAt tree.Position
	files     map[string]string // everything that it was read from, by name in its folder
	mentioned map[string]bool   // names that its formulas use
	plain     *Operator         // the operator without the tensors of a problem's epilogue; nil if this operator has none
}

// Naming says how names of op.yaml become names of macros.
type Naming string

// SameMacros leaves the case of names unchanged; by default, macros are in upper case.
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
	written *expr.Node // as written in the file, with macros
	axis    string     // the axis that replaces `$` in it
}

func (f Formula) String() string { return f.Text }

// Never tells whether the formula is false for every configuration. A formula that op.yaml omits counts as false.
func (f Formula) Never() bool {
	root := f.code.Root()
	return root.Op == expr.OpConst && !root.Value.Truth()
}

func (f Formula) Code() *expr.Expr { return f.code }

// Definition is a name with the formula for its value.
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
	// ExpressionParameter is a function of the names in Of, composed of Functions.
	ExpressionParameter ParameterType = "expression"

	intsParameter ParameterType = "ints" // how op.yaml calls an IntParameter with a component for each axis
)

var parameterTypes = []string{"int", "ints", "float", "bool", "word", "expression"}

// ParameterSpec describes one parameter. Expressions refer to the components of a pair named kernel as kernel_h and
// kernel_w, and to those of a triple as kernel_d, kernel_h and kernel_w. For a parameter f of type expression, formulas
// may use f and, for each name x, f_x, which says whether the expression uses x.
type ParameterSpec struct {
	Name      string                `json:"name"`
	Summary   string                `json:"summary,omitempty"`
	Type      ParameterType         `json:"type"`
	Names     []string              `json:"names"`             // by which expressions refer to its components
	Default   *Formula              `json:"default,omitempty"` // nil: must be given
	Min       *expr.Value           `json:"min,omitempty"`
	Max       *expr.Value           `json:"max,omitempty"`
	Choices   []expr.Value          `json:"choices,omitempty"`
	Of        []string              `json:"of,omitempty"`        // the names that an expression may use
	Functions map[string]expr.Arity `json:"functions,omitempty"` // that an expression may call
	Axes      []string              `json:"axes,omitempty"`      // names of the output's axes in an epilogue's tensors; nil: no epilogue
	Apart     int                   `json:"-"`                   // a tensor has all axes from this index on or none of them; 0: any of them
	Later     bool                  `json:"-"`                   // a problem's text and macros leave the parameter out if it has its default
}

// Role says what a kernel does with an argument.
type Role string

const (
	Input     Role = "input"     // read; filled with the searched distribution, or its own
	Weight    Role = "weight"    // read; filled uniformly in [-scale, scale], or as its own fill says
	Output    Role = "output"    // written, and compared with the reference's
	InOut     Role = "inout"     // filled like an input before every launch, read, written and compared
	Workspace Role = "workspace" // read and written; its contents are not kept between launches
	Scalar    Role = "scalar"    // passed by value
)

func (r Role) noun() string {
	if r == Weight || r == Workspace {
		return "a " + string(r)
	}
	return "an " + string(r)
}

// constantRole is op.yaml's role of an Input that is copied to the kernels' __constant__ variable of the same name.
const constantRole Role = "constant"

var tensorRoles = []string{"input", "weight", "constant", "output", "inout", "workspace"}

// Filled tells whether the tensor is filled with input values.
func (r Role) Filled() bool { return r == Input || r == Weight || r == InOut }

func (r Role) Written() bool { return r == Output || r == InOut || r == Workspace }

// Compared tells whether the tensor is an output that is compared with the reference's.
func (r Role) Compared() bool { return r == Output || r == InOut }

type ArgumentSpec struct {
	Name   string `json:"name"`
	Role   Role   `json:"role"`
	Type   Type   `json:"type,omitempty"`    // of the elements; "": TypeBy names it
	TypeBy string `json:"type_by,omitempty"` // a parameter whose words are Types
	Types  []Type `json:"-"`
	// OrderBy is the parameter that names the tensor's order in memory, or "" if the tensor is always row-major.
	OrderBy string `json:"order,omitempty"`

	Shape []Formula `json:"shape,omitempty"` // of a tensor
	Scale *Formula  `json:"scale,omitempty"` // of a weight's values; nil: 1
	Fill  *FillSpec `json:"fill,omitempty"`  // nil: filled as its role and the search require
	Value *Formula  `json:"value,omitempty"` // of a scalar
	// Symbol is the __constant__ variable that the argument is copied to, or "" if the argument is passed to kernels.
	Symbol string `json:"symbol,omitempty"`
	Owner  string `json:"template,omitempty"` // whose launches alone take it, where they name it; "": the operator's

	ATol Formula `json:"atol,omitzero"` // of what is compared
	RTol Formula `json:"rtol,omitzero"`
}

// Source is a kernel's text with the text of all files that it includes.
type Source struct {
	File     string
	Text     string
	Includes map[string]string // name -> text, transitively
	alone    map[string]bool   // macros of other templates in its file that it needs; nil: all
}

func (s Source) MarshalText() ([]byte, error) { return []byte(s.File), nil }

// Template is a kernel with tunable parameters that can serve some problems of an operator.
type Template struct {
	Name        string              `json:"template"`
	Summary     string              `json:"summary,omitempty"`
	Source      Source              `json:"source"`
	With        []Definition        `json:"with,omitempty"` // names for its formulas besides the problem's values; they do not become macros
	When        *Formula            `json:"when,omitempty"` // nil: serves every problem
	Tunables    []space.Tunable     `json:"tunables"`
	Derived     []Definition        `json:"derived"` // each after the values that it uses
	Constraints []Formula           `json:"constraints"`
	Estimate    *Formula            `json:"estimate,omitempty"` // of the time, in a unit of the operator's own; nil: no estimate
	Flags       []Interpolated      `json:"flags,omitempty"`    // of the compiler
	Free        []string            `json:"free,omitempty"`     // the dimensions that its kernel can take at run time
	Keep        []string            `json:"keep,omitempty"`     // derived values that stay constants of the kernel if dimensions are free
	TensorMaps  []*TensorMapSpec    `json:"tensor_maps,omitempty"`
	Launches    []LaunchSpec        `json:"launches"`
	Default     space.Configuration `json:"-"` // the untuned baseline

	like                    *Template // the included template, whose workspaces it shares; nil: none
	kernel                  string    // the name of its kernel unless a launch names another
	naming                  Naming    // the operator's
	at, launchAt, defaultAt tree.Position

	mentioned map[string]bool // names that its formulas use, except the estimate

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
	files, _ := fs.Glob(templates.FS, "*/op.yaml") // the error is always nil, because the pattern is valid
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

// known caches the built-in operators by name, because a list of problems may name an operator many times.
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

// AsNamed returns a copy of the operator with the field Named set.
func (o *Operator) AsNamed(named bool) *Operator {
	same := *o
	same.Named = named
	return &same
}

// In JSON, formulas and interpolated texts are written as in op.yaml.

func (f Formula) MarshalText() ([]byte, error) { return []byte(f.Text), nil }

// IsZero tells whether op.yaml leaves the formula out.
func (f Formula) IsZero() bool { return f.Text == "" || f.Never() }

func (t Interpolated) MarshalText() ([]byte, error) { return []byte(t.Text), nil }

func (f FillSpec) MarshalText() ([]byte, error) { return []byte(f.String()), nil }
