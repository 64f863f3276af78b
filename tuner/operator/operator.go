package operator

import (
	"io/fs"
	"path"
	"slices"

	"autotune/space"
	"autotune/space/expr"
	"autotune/templates"
	"autotune/tuner/operator/tree"
)

// Operator is a mathematical function as its op.yaml describes it. It is data:
// nothing in it changes after Load.
type Operator struct {
	Name       string
	Summary    string
	Shape      []string // the dimensions that a shape gives, in order
	Outdated   []tree.Outdated
	Example    []int64 // a shape to try; nil if op.yaml names none
	Parameters []ParameterSpec
	Preset     map[string]string // what runs when no parameter is set
	Derived    []Definition      // each after those that it names
	Requires   []Requirement
	Arguments  []ArgumentSpec // of its kernels, in order
	SameMacros bool           // macros are named as op.yaml has their names, not in upper case
	Inputs     []string       // distributions: a search uses the first, the gates all
	// Deterministic: every launch of a kernel must give the same bits.
	Deterministic bool
	Bytes         Formula // least bytes moved, for the roofline
	Flops         Formula
	MathModes     []string
	MathAuto      Formula // the mode that "auto" means
	// MathVariants are the modes whose kernels are another mode's, with other headers.
	MathVariants   map[string]MathVariant
	MathAsk        *Source // Python that asks PyTorch which mode it takes; nil: nobody asks
	Reference      Source
	referenceEntry string // of Reference
	// ReferenceTemplate is the template whose default is the reference; "": it is a
	// kernel of its own.
	ReferenceTemplate string
	Answers           *Answers              // what says what is right where no kernel does; nil: a kernel does
	Compare           *CompareSpec          // nil: outputs are compared element by element
	FillKernels       map[string]FillKernel // by name
	Data              map[string]*DataFile  // by name
	// Named: it is built in, or the user named the place that it was read from. Only then
	// a Python file of it may run.
	Named     bool
	Metrics   []Metric // of its own
	PyTorch   *PyTorch // nil: the operator has no PyTorch module
	Templates []*Template
	File      string // op.yaml, for messages
	exampleAt tree.Position
	files     map[string]string // all that it was read from, by name in its folder
}

// Formula is an expression in op.yaml with its place in the file.
type Formula struct {
	Text string
	tree.Position
	code    *expr.Expr
	spelled bool // the file has it in other words
}

func (f Formula) String() string { return f.Text }

// Never tells whether it is false whatever the configuration, as what op.yaml does not say is.
func (f Formula) Never() bool {
	root := f.code.Root()
	return root.Op == expr.OpConst && !root.Value.Truth()
}

// Code is the expression, parsed.
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

// ParameterType is the type of a parameter's value.
type ParameterType string

// The types of parameters.
const (
	IntParameter  ParameterType = "int"
	BoolParameter ParameterType = "bool"
	WordParameter ParameterType = "word" // one of its Words
)

// ParameterSpec describes one parameter. A pair named kernel is known to
// expressions as kernel_h and kernel_w, a triple as kernel_d, kernel_h and kernel_w.
type ParameterSpec struct {
	Name    string
	Summary string
	Type    ParameterType
	Suffix  []string // one a component: {""}, {"_h", "_w"} or {"_d", "_h", "_w"}
	Default *Formula // nil: must be given
	Min     *int64
	Max     *int64
	Choices []int64
	Words   []string // of a parameter of words
	Later   bool     // where it has its default, a problem's text and macros leave it out
}

// Components are the names that expressions know the parameter by.
func (s ParameterSpec) Components() []string {
	names := make([]string, len(s.Suffix))
	for i, suffix := range s.Suffix {
		names[i] = s.Name + suffix
	}
	return names
}

// Role says what a kernel does with an argument.
type Role string

// The roles of arguments. All but a scalar are tensors.
const (
	Input     Role = "input"     // read; filled with the searched distribution, or its own
	Weight    Role = "weight"    // read; filled uniformly in [-scale, scale], or as its own fill says
	Output    Role = "output"    // written, and compared with the reference's
	InOut     Role = "inout"     // filled like an input before every launch, read, written and compared
	Workspace Role = "workspace" // read and written, of no meaning before and after a launch
	Scalar    Role = "scalar"    // passed by value
)

// noun is the role as a sentence has it: "an input".
func (r Role) noun() string {
	if r == Weight || r == Workspace {
		return "a " + string(r)
	}
	return "an " + string(r)
}

var tensorRoles = []string{string(Input), string(Weight), string(Output), string(InOut), string(Workspace)}

// Filled tells whether a tensor holds what a problem's inputs are drawn from.
func (r Role) Filled() bool { return r == Input || r == Weight || r == InOut }

// Written tells whether a kernel may write a tensor.
func (r Role) Written() bool { return r == Output || r == InOut || r == Workspace }

// Compared tells whether a tensor must be what the reference makes it.
func (r Role) Compared() bool { return r == Output || r == InOut }

// ArgumentSpec describes one argument of an operator's kernels.
type ArgumentSpec struct {
	Name string
	Role Role
	// Type is that of the elements. Where TypeBy, a parameter of words, names it instead,
	// it is the first of the words.
	Type   Type
	TypeBy *ParameterSpec

	Shape []Formula // of a tensor
	Scale *Formula  // of a weight's values; nil: 1
	Fill  *FillSpec // nil: as its role and the search say
	Value *Formula  // of a scalar
	// Symbol is the __constant__ variable that it is copied to instead of being
	// passed; "": it is passed.
	Symbol string
	Owner  *Template // whose launches alone take it, where they name it; nil: the operator's

	ATol, RTol Formula // of what is compared
}

// Source is a kernel's text and the files it includes, as read by Load.
type Source struct {
	File     string
	Text     string
	Includes map[string]string // name -> text, transitively
	Headers  map[string]string // the files that some of the names stand for; other names are files
}

// Template is one parameterised kernel that can serve some problems of an operator.
type Template struct {
	Name        string
	Summary     string
	Source      Source
	Flags       []Interpolated // of the compiler
	With        []Definition   // what it knows besides the problem's values; no macros
	When        *Formula       // nil: serves every problem
	Tunables    []space.Tunable
	Derived     []Definition // each after those that it names
	Constraints []Formula
	Estimate    *Formula // of the time, in a unit of the operator's own; nil: there is none
	Launches    []LaunchSpec
	Default     space.Configuration // the untuned baseline

	like                    *Template // whose workspaces it has too; nil: none's
	kernel                  string    // the name of its kernel unless it gives another
	sameMacros              bool      // as the operator's
	at, launchAt, defaultAt tree.Position
}

// Template gives the template with that name.
func (o *Operator) Template(name string) (*Template, bool) {
	for _, t := range o.Templates {
		if t.Name == name {
			return t, true
		}
	}
	return nil, false
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

// argument gives the index of the argument with that name, or -1.
func (o *Operator) argument(name string) int {
	return slices.IndexFunc(o.Arguments, func(a ArgumentSpec) bool { return a.Name == name })
}

// OperatorNames lists the built-in operators by name.
func OperatorNames() []string {
	files, _ := fs.Glob(templates.FS, "*/op.yaml") // the pattern is well-formed: no error
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = path.Dir(file)
	}
	slices.Sort(names)
	return names
}

// Operators loads the built-in operators, by name.
func Operators() ([]*Operator, error) {
	var operators []*Operator
	for _, name := range OperatorNames() {
		o, err := Load(templates.FS, name)
		if err != nil {
			return nil, err
		}
		operators = append(operators, o)
	}
	return operators, nil
}

// Find loads the built-in operator with that name.
func Find(name string) (*Operator, error) {
	names := OperatorNames()
	if !slices.Contains(names, name) {
		return nil, &RequestError{Message: "there is no operator `" + name + "`", Hint: tree.NearestOrAll(name, "there are", names)}
	}
	o, err := Load(templates.FS, name)
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
