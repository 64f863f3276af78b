package pytorch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"autotune/reports/cudasource"
	"autotune/space/expr"
	"autotune/tuner/operator"
)

// view is what the templates are filled with.
type view struct {
	Story    []string
	Operator string
	Math     string
	MathUsed bool // by an expression
	CeilDiv  bool // likewise

	Arguments     []argument // of plan: dimensions, then parameters' components
	ArgumentNames string
	Parameters    []parameter
	Read          []tensor
	ReadNames     string
	ReadRanks     string
	FromTensors   string   // the dimensions, as taken from the tensors
	Plan          []string // lines of Python
	SizesTuple    string
	ShapesTuple   string
	Serves        []string // lines of Python
	Module        string

	GeneralDefines, General, EveryElement, GeneralUndefines string
	TunedDefines, Tuned                                     string

	Signature                         string
	Entry, Grid, Block                string
	SharedBytes                       int64
	KernelArguments, GeneralArguments string
	SizeCount                         int
	SizesFromVector                   string

	CUDA, Declaration, Extension string
}

type argument struct {
	Name  string
	Value int64
}

type parameter struct {
	Name       string
	Components string // a tuple of Python
}

type tensor struct {
	Name string
	Rank int
}

func newView(w cudasource.Winner) (view, error) {
	p, op := w.Problem, w.Problem.Operator
	v := view{
		Story: w.Story(), Operator: op.Name, Math: p.Math, Module: op.PyTorch.Module.Text, Signature: signature,
		Entry: w.Kernel.Entry, Grid: cudasource.Dim3(w.Kernel.Launch.Grid), Block: cudasource.Dim3(w.Kernel.Launch.Block),
		SharedBytes: w.Kernel.Launch.SharedBytes,
	}
	for _, steps := range []func() error{
		func() error { return v.arguments(p) },
		func() error { return v.tensors(op) },
		func() error { return v.plan(p) },
		func() error { return v.serves(w) },
		func() error { return v.general(p) },
		func() error { return v.tuned(w.Kernel) },
	} {
		if err := steps(); err != nil {
			return v, fmt.Errorf("%s as a PyTorch module: %w", op.Name, err)
		}
	}
	return v, nil
}

// pythonWords cannot be names in Python; those that op.yaml refuses are not listed.
var pythonWords = []string{
	"as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "except", "finally", "from",
	"global", "import", "nonlocal", "pass", "raise", "return", "try", "while", "with", "yield",
}

// arguments lists what determines a problem, with the tuned problem's values.
func (v *view) arguments(p *operator.Problem) error {
	names := slices.Clone(p.Operator.Shape)
	for _, spec := range p.Operator.Parameters {
		v.Parameters = append(v.Parameters, parameter{spec.Name, tuple(quoted(spec.Components()))})
		names = append(names, spec.Components()...)
	}
	for _, name := range names {
		if slices.Contains(pythonWords, name) {
			return fmt.Errorf("`%s` is a word of Python and cannot be a name there", name)
		}
		n, _ := p.Values[name].AsInt() // dimensions and parameters are integers and booleans
		v.Arguments = append(v.Arguments, argument{name, n})
	}
	v.ArgumentNames = strings.Join(names, ", ")
	return nil
}

// tensors lists what the kernels read and finds every dimension in it.
func (v *view) tensors(op *operator.Operator) error {
	var all, read []string
	for _, t := range op.Tensors {
		if t.Role == operator.Output {
			all = append(all, "written")
			continue
		}
		element := fmt.Sprintf("read[%d]", len(read))
		all, read = append(all, element), append(read, element)
		v.Read = append(v.Read, tensor{t.Name, len(t.Shape)})
	}
	var names, ranks []string
	for _, t := range v.Read {
		names, ranks = append(names, t.Name), append(ranks, strconv.Itoa(t.Rank))
	}
	v.ReadNames, v.ReadRanks = tuple(quoted(names)), tuple(ranks)
	v.KernelArguments, v.GeneralArguments = strings.Join(all, ", "), strings.Join(read, ", ")
	var dims []string
	for _, dim := range op.Shape {
		place := findDimension(op, dim)
		if place == "" {
			return fmt.Errorf("no tensor that is read has the dimension `%s` by itself, so it cannot be told from the tensors", dim)
		}
		dims = append(dims, place)
	}
	v.FromTensors = strings.Join(dims, ", ")
	return nil
}

// findDimension gives the Python expression for a dimension, "" if there is none.
func findDimension(op *operator.Operator, dim string) string {
	i := 0
	for _, t := range op.Tensors {
		if t.Role == operator.Output {
			continue
		}
		for axis, f := range t.Shape {
			if f.Text == dim {
				return fmt.Sprintf("tensors[%d].size(%d)", i, axis)
			}
		}
		i++
	}
	return ""
}

// general puts the operator's general function and its kernel together.
func (v *view) general(p *operator.Problem) error {
	general := p.Operator.PyTorch.General
	text, err := cudasource.Inline(general.File, general.Text, general.Includes)
	if err != nil {
		return err
	}
	var pointers, arguments []string
	for i := range v.Read {
		name := fmt.Sprintf("t%d", i)
		pointers = append(pointers, "const float* __restrict__ "+name)
		arguments = append(arguments, name)
	}
	v.General = text
	v.EveryElement = fmt.Sprintf(`
__global__ void every_element(%s, float* __restrict__ written,
                              const Sizes sizes, long long elements) {
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < elements; i += step)
        written[i] = %s(%s, sizes, i);
}
`, strings.Join(pointers, ", "), p.Operator.GeneralFunction(), strings.Join(arguments, ", "))
	macros := append(mathMacros(p), operator.Macro{Name: "SIZES", Value: sizesMacro(p)})
	v.GeneralDefines, v.GeneralUndefines = cudasource.Defines(macros), cudasource.Undefines(macros, text)
	return nil
}

// mathMacros are the macros that tell a kernel its math mode.
func mathMacros(p *operator.Problem) []operator.Macro {
	var macros []operator.Macro
	for _, mode := range p.Operator.MathModes {
		if mode == "fp32" || len(p.Operator.MathModes) == 1 {
			continue
		}
		value := "0"
		if mode == p.Math {
			value = "1"
		}
		macros = append(macros, operator.Macro{Name: "MATH_" + strings.ToUpper(mode), Value: value})
	}
	return macros
}

// sizes are the problem's values that general kernels know, in their order.
func sizes(p *operator.Problem) []string {
	var names []string
	names = append(names, p.Operator.Shape...)
	for _, spec := range p.Operator.Parameters {
		names = append(names, spec.Components()...)
	}
	for _, d := range p.Operator.Derived {
		if kind := p.Values[d.Name].Kind(); kind == expr.KindInt || kind == expr.KindBool {
			names = append(names, d.Name)
		}
	}
	return names
}

// sizesMacro declares them as members of a struct, a few a line.
func sizesMacro(p *operator.Problem) string {
	var lines []string
	for chunk := range slices.Chunk(sizes(p), 8) {
		lines = append(lines, strings.Join(chunk, ", "))
	}
	return "long long \\\n    " + strings.Join(lines, ", \\\n    ")
}

// tuned puts the winner's kernel together.
func (v *view) tuned(k operator.Kernel) error {
	text, err := cudasource.Inline(k.File, k.Source, k.Includes)
	if err != nil {
		return err
	}
	v.Tuned = text
	v.TunedDefines = cudasource.Defines(k.Macros)
	return nil
}
