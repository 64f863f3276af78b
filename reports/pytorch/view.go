package pytorch

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"autotune/internal/lists"
	"autotune/internal/quote"
	"autotune/operator"
	"autotune/space/expr"
	"autotune/tuner/cudasource"
)

// plan translates what op.yaml says about every problem into Python: bounds, derived values, requirements and shapes.
func (v *view) plan(p *operator.Problem) {
	op := p.Operator
	var formulas []string
	for _, d := range op.Derived {
		v.Plan = append(v.Plan, d.Name+" = "+d.Formula.Text)
		formulas = append(formulas, d.Formula.Text)
	}
	for _, r := range op.Requires {
		v.Plan = append(v.Plan, fmt.Sprintf("need(%s, %s)", r.That.Text, formatted(r.Because.Text)))
		formulas = append(formulas, r.That.Text, r.Because.Text)
	}
	v.Bounds, v.Sizes, v.Reals = boundsOf(v.Parameters), cudasource.Sizes(p), cudasource.Reals(op)
	output := ""
	for _, t := range op.Arguments {
		if t.Role == operator.Workspace {
			continue
		}
		extents := lists.Of(t.Shape, func(f operator.Formula) string { return f.Text })
		if t.Role == operator.Output {
			output = tuple(extents)
		} else {
			v.Shapes = append(v.Shapes, tuple(extents))
		}
	}
	v.Shapes = append(v.Shapes, output)
	all := strings.Join(append(formulas, v.Shapes...), "\n")
	v.Plan = slices.Concat(v.Element.python(all), v.expressions(p), v.Plan)
}

// expressions records the parameters that are expressions, and returns lines of Python that define the names which
// depend on them. An exported module always computes the expressions of the problem for which it was exported.
func (v *view) expressions(p *operator.Problem) (lines []string) {
	for _, spec := range p.Operator.Parameters {
		if spec.Type != operator.ExpressionParameter {
			continue
		}
		beside := lists.Of(p.Operator.Epilogue(), func(a operator.ArgumentSpec) string { return a.Name })
		of, text := strings.Join(slices.Concat(spec.Of, beside), ", "), spec.Python(p.Values[spec.Name].String(), "of")
		v.Expressions = append(v.Expressions, expression{spec.Name, of, text})
		lines = append(lines, lists.Of(spec.Names[1:], func(name string) string { return name + " = " + p.Values[name].Source() })...)
	}
	return lines
}

// bound holds the limits of a parameter's component in Python. Python's None stands for a limit that does not exist.
type bound struct{ Name, Least, Most, Choices string }

func boundsOf(parameters []operator.ParameterSpec) (all []bound) {
	end := func(v *expr.Value) string {
		if v == nil {
			return "None"
		}
		return v.Source()
	}
	for _, spec := range parameters {
		for _, name := range spec.Names {
			if spec.Min != nil || spec.Max != nil || len(spec.Choices) > 0 {
				all = append(all, bound{name, end(spec.Min), end(spec.Max), tuple(lists.Of(spec.Choices, expr.Value.Source))})
			}
		}
	}
	return all
}

var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// formatted writes an explanation with {expressions} in braces as a Python f-string.
func formatted(text string) string {
	var b strings.Builder
	last := 0
	for _, m := range placeholder.FindAllStringIndex(text, -1) {
		b.WriteString(quote.PythonFormat(text[last:m[0]]))
		b.WriteString(strings.ReplaceAll(text[m[0]:m[1]], `"`, `'`))
		last = m[1]
	}
	b.WriteString(quote.PythonFormat(text[last:]))
	return `f"` + b.String() + `"`
}

// tuple writes a tuple in Python.
func tuple(parts []string) string {
	if len(parts) == 1 {
		return "(" + parts[0] + ",)"
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// limits maps the GPU limits that a template's `when` may name to Python code. In the Python code, gpu is the result
// of torch.cuda.get_device_properties.
var limits = []struct{ name, python string }{
	{"arch", "10 * gpu.major + gpu.minor"},
	{"target", "\"sm_\" + architecture(gpu)"},
	{"sm_count", "gpu.multi_processor_count"},
	{"max_threads", "1024"},
	{"max_shared", `getattr(gpu, "shared_memory_per_block_optin", 48 << 10)`},
	{"warp_size", "32"},
}

// serves translates a template's `when` into lines of Python, the last of which is a return statement.
func (v *view) serves(w cudasource.Winner) error {
	t, ok := w.Problem.Operator.Template(w.Kernel.Template)
	if !ok || t.When == nil {
		v.Serves = []string{"return True"}
		return nil
	}
	e, err := expr.Parse(t.When.Text)
	if err != nil {
		return err
	}
	for _, name := range e.Names() {
		if i := slices.IndexFunc(limits, func(l struct{ name, python string }) bool { return l.name == name }); i >= 0 {
			v.Serves = append(v.Serves, name+" = "+limits[i].python)
			continue
		}
		value, ok := w.Problem.Constants(t)[name]
		if !ok {
			return fmt.Errorf("the template %s serves problems by `%s`, which a module cannot tell", t.Name, name)
		}
		v.Serves = append(v.Serves, name+" = "+value.Source())
	}
	v.Serves = append(v.Serves, "return bool("+t.When.Text+")")
	return nil
}

// view holds the data for the templates of an exported file: the winner, and values derived from it.
type view struct {
	cudasource.Winner
	Name    string  // of the tuned kernel: its namespace, and launch_NAME is the function that launches it
	Element element // the type of all tensors

	Arguments   []argument               // arguments of plan: dimensions, then components
	Parameters  []operator.ParameterSpec // numbers, and the tensors' order in memory
	Bounds      []bound
	Ordered     bool // whether a parameter is the order in memory
	Expressions []expression
	Read        []operator.ArgumentSpec // the kernels' inputs
	Types       []string                // PyTorch's types of the inputs
	Mixed       bool                    // whether inputs differ from Element
	Renewed     []string                // inputs that the kernels also write
	ReadNames   []string
	ReadRanks   []string
	FromTensors []string // Python expressions for the dimensions
	Plan        []string // lines of Python
	Sizes       []string // names that general kernels take
	Reals       []string // floating-point parameters after Sizes
	Shapes      []string // shapes of the inputs, then of the output
	Serves      []string // lines of Python
	Launches    []string // C++ launches of the tuned kernel

	Workspaces     []operator.Argument // workspaces of the tuned kernel
	WorkspaceSizes []string            // sizes in elements

	GeneralDefines, General, EveryElement, GeneralUndefines string
	TunedDefines, Tuned                                     string

	GeneralFile, TunedFile, Extension string
}

type argument struct {
	Name  string
	Value string // the value in Python
}

// expression is an expression parameter as Python code.
type expression struct{ Name, Of, Text string }

// Indices reports whether the output has the type int64.
func (v view) Indices() bool { return v.Problem.Output().Type == operator.I64 }

func newView(w cudasource.Winner) (view, error) {
	p, op := w.Problem, w.Problem.Operator
	v, err := kernelOf(w, "tuned")
	if err != nil {
		return v, fmt.Errorf("%s as a PyTorch module: %w", op.Name, err)
	}
	v.Ordered = len(op.Orders()) > 0
	for _, spec := range op.Parameters {
		words := spec.Type == operator.WordParameter || spec.Type == operator.ExpressionParameter
		if !words || slices.Contains(op.Orders(), spec.Name) {
			v.Parameters = append(v.Parameters, spec)
		}
	}
	v.plan(p)
	if err := cmp.Or(v.arguments(p), v.dimensions(op), v.general(p)); err != nil {
		return v, fmt.Errorf("%s as a PyTorch module: %w", op.Name, err)
	}
	return v, nil
}

// kernelOf is the view of a winner's kernel and of the tensors that it reads.
func kernelOf(w cudasource.Winner, name string) (view, error) {
	e, err := elementOf(w.Problem)
	if err != nil {
		return view{}, err
	}
	v := view{Winner: w, Element: e, Name: name}
	v.tensors(w.Problem.Operator)
	v.launches(w)
	return v, cmp.Or(v.serves(w), v.tuned(w.Kernel))
}

// arguments lists the dimensions and parameters that determine a problem, with their values in the tuned problem.
func (v *view) arguments(p *operator.Problem) error {
	names := []string{v.Element.Parameter}
	for _, name := range cudasource.Determining(p.Operator) {
		fixed := func(spec operator.ParameterSpec) bool { // a module has one fixed expression
			return spec.Type == operator.ExpressionParameter && slices.Contains(spec.Names, name)
		}
		if name != v.Element.Parameter && !slices.ContainsFunc(p.Operator.Parameters, fixed) {
			names = append(names, name)
			v.Arguments = append(v.Arguments, argument{name, pythonValue(p.Values[name])})
		}
	}
	for _, name := range names {
		if name != "" && !quote.IsPythonName(name) {
			return fmt.Errorf("`%s` is a word of Python and cannot be a name there", name)
		}
	}
	return nil
}

// pythonValue writes the value of a dimension or a parameter in Python: an integer, 0 or 1 for a boolean, or a string.
func pythonValue(v expr.Value) string {
	if n, ok := v.AsInt(); ok {
		return strconv.FormatInt(n, 10)
	}
	return v.Source()
}

// Orders returns a Python tuple of the parameters that name the tensors' orders in memory, with the output's last.
// Python's None stands for a tensor whose order no parameter names.
func (v view) Orders() string {
	written, names := "None", []string{}
	for _, a := range v.Problem.Operator.Arguments {
		name := "None"
		if a.OrderBy != "" {
			name = quote.Python(a.OrderBy)
		}
		if a.Role == operator.Output {
			written = name
		} else if !a.Role.Written() || a.Role == operator.InOut {
			names = append(names, name)
		}
	}
	return tuple(append(names, written))
}

// tensors lists the tensors that the kernels read.
func (v *view) tensors(op *operator.Operator) {
	for _, t := range op.Arguments {
		if t.Role.Written() && t.Role != operator.InOut {
			continue
		}
		if t.Role == operator.InOut {
			v.Renewed = append(v.Renewed, t.Name)
		}
		torch, known := v.Element.of(t)
		if !known { // the type of an epilogue's tensor
			torch = torchTypes[t.Type]
		}
		v.Types, v.Mixed = append(v.Types, "torch."+torch), v.Mixed || torch != v.Element.Torch || len(op.Epilogue()) > 0
		v.Read = append(v.Read, t)
		v.ReadNames, v.ReadRanks = append(v.ReadNames, t.Name), append(v.ReadRanks, strconv.Itoa(len(t.Shape)))
	}
}

// dimensions finds for every dimension a tensor that has it.
func (v *view) dimensions(op *operator.Operator) error {
	for _, dim := range op.Shape {
		place := v.findDimension(dim)
		if place == "" {
			return fmt.Errorf("no tensor that is read has the dimension `%s` by itself, so it cannot be told from the tensors", dim)
		}
		v.FromTensors = append(v.FromTensors, place)
	}
	return nil
}

// launches lists the tuned kernel's launches and workspaces.
func (v *view) launches(w cudasource.Winner) {
	for _, a := range w.Problem.Arguments {
		if a.Role == operator.Workspace && w.Kernel.Launches.Name(a.Name) {
			v.Workspaces = append(v.Workspaces, a)
			v.WorkspaceSizes = append(v.WorkspaceSizes, strconv.FormatInt(a.Elements, 10))
		}
	}
	given := func(a operator.Argument) string { // the argument's name in the launching function
		switch a.Role {
		case operator.Output:
			return "written"
		case operator.Workspace:
			return cudasource.Identifier(a.Name)
		}
		return fmt.Sprintf("t%d", slices.Index(v.ReadNames, a.Name))
	}
	for _, l := range w.Kernel.Launches {
		v.Launches = append(v.Launches, w.Launching(l, v.Name+"::"+l.Entry, given))
	}
}

// choice matches an extent of the form "a if p else b", which is one of two names, depending on a parameter.
var choice = regexp.MustCompile(`^(\w+) if (\w+) else (\w+)$`)

// findDimension returns the Python expression that reads a dimension from the inputs' shapes, or "" if there is none. A
// parameter can determine which axis is the dimension, for example if a matrix may be transposed, or which tensor has
// the dimension, if tensors may be broadcast.
func (v *view) findDimension(dim string) string {
	var places []string // each but the last ends with a condition
	for i, t := range v.Read {
		for axis, f := range t.Shape {
			place, is := fmt.Sprintf("shapes[%d][%d]", i, axis), choice.FindStringSubmatch(f.Text)
			switch {
			case f.Text == dim:
				return place
			case is == nil || is[1] != dim && is[3] != dim:
			case is[1] == dim:
				places = append(places, place+fmt.Sprintf(" if settings[%q] else ", is[2]))
			default:
				places = append(places, place+fmt.Sprintf(" if not settings[%q] else ", is[2]))
			}
		}
	}
	if len(places) == 0 {
		return ""
	}
	last, _, _ := strings.Cut(places[len(places)-1], " ")
	return strings.Join(places[:len(places)-1], "") + last
}

// general collects the source of the operator's general function and of the kernel that calls it.
func (v *view) general(p *operator.Problem) (err error) {
	general, macros := p.Operator.PyTorch.General, cudasource.GeneralMacros(p)
	v.General, err = cudasource.Inline(general.File, general.Text, general.Includes, nil)
	v.EveryElement = cudasource.EveryElement(p, "", "every_element")
	v.GeneralDefines, v.GeneralUndefines = cudasource.Defines(macros), cudasource.Undefines(macros, v.General)
	return err
}

// tuned collects the source of the winner's kernel.
func (v *view) tuned(k operator.Kernel) (err error) {
	v.TunedDefines = cudasource.Defines(k.Macros)
	v.Tuned, err = cudasource.Inline(k.File, k.Source, k.Includes, k.Macros)
	return err
}
