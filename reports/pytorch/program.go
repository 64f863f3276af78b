package pytorch

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"autotune/internal/lists"
	"autotune/internal/quote"
	"autotune/operator"
	"autotune/program"
	"autotune/tuner/cudasource"
)

// Program is a planned program with the winners of its regions.
type Program struct {
	Plan    *program.Plan
	Winners map[string]cudasource.Winner // by the region's name; PyTorch computes a region that has none
	Source  string                       // the user's file, whole
	Model   string                       // the class in it; "": Model
}

// WriteProgram writes the program as one Python file: the user's source, and ModelNew, which is the user's class with
// another forward. There each region is a kernel, and each other node is a call of PyTorch.
func WriteProgram(out io.Writer, p Program) error {
	p.Model = cmp.Or(p.Model, "Model")
	if !quote.IsPythonName(p.Model) || p.Model == "ModelNew" {
		return fmt.Errorf("the class %.80q cannot be the base of ModelNew: want a name of Python, and another one", p.Model)
	}
	v := programView{Program: p, values: map[string]program.Tensor{}, kernels: map[string]view{}}
	if err := cmp.Or(v.regions(), v.forward()); err != nil {
		return fmt.Errorf("%s with tuned kernels: %w", p.Model, err)
	}
	digest := sha256.New()
	for _, k := range v.Kernels {
		io.WriteString(digest, k.TunedFile)
	}
	v.Extension = "autotune_program_" + hex.EncodeToString(digest.Sum(nil)[:6])
	text, err := fill("program.py.tmpl", v)
	if err == nil {
		text, err = apart(text, p.Source)
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, v.head()+"\n"+commented(p.Source)+"\n\n# Written by autotune from here on.\n"+text)
	return err
}

// programView holds the data for program.py.tmpl.
type programView struct {
	Program
	Regions   []regionView
	Kernels   []view   // those of the regions, without repetition
	Given     []string // rows of TUNED_FOR: the inputs, then what the program reads of the model
	Collected []string // lines of forward that put these tensors together, and
	Assigned  []string // lines of tuned_forward that name these tensors
	Lines     []string // the lines of tuned_forward
	Constants []string // tensors that forward makes of numbers, in Python
	Mutated   []string // parts of the model that the program writes
	Training  string   // "True" or "False", where the program depends on the model's mode
	Once      bool     // whether a second forward may give something else
	Extension string

	values  map[string]program.Tensor
	kernels map[string]view // by the digest of the kernel
}

// regionView is a region as a function of Python.
type regionView struct {
	view   // of the kernel, which may be that of an earlier region
	Region program.Region
	Takes  []string // names of the function's arguments
	Values []string // the values of the graph that the program calls the function with
	Passed []string // what the kernel reads, in Python
	Made   string   // the output, in Python
	Writes []string // lines that copy what the kernel wrote to inputs
	Doc    string
}

// Calls tells whether a condition of a kernel calls a function.
func (v programView) Calls(name string) bool {
	return slices.ContainsFunc(v.Kernels, func(k view) bool { return strings.Contains(strings.Join(k.Serves, "\n"), name+"(") })
}

var regionForm = regexp.MustCompile(`^region_\d{1,6}$`)

func (v *programView) regions() (err error) {
	missing := lists.Where(v.Plan.Regions(), func(r *program.Region) bool { _, won := v.Winners[r.Name]; return !won })
	v.Plan, err = v.Plan.Without(lists.Of(missing, func(r *program.Region) string { return r.Name })...)
	if err != nil {
		return err
	}
	g := v.Plan.Graph
	for _, t := range slices.Concat(g.Inputs, g.State) {
		v.values[t.Name] = t
	}
	for _, n := range g.Nodes {
		for _, t := range n.Results {
			v.values[t.Name] = t
		}
	}
	for _, of := range v.Plan.Regions() {
		w := v.Winners[of.Name]
		r := regionView{Region: *of, Doc: quote.PythonDoc(strings.Join(of.Nodes, ", ") + ", by one kernel.")}
		if !regionForm.MatchString(of.Name) {
			return fmt.Errorf("a region is called %.80q; want region_1 or so", of.Name)
		}
		if r.view, err = v.kernel(of.Name, w); err == nil {
			err = cmp.Or(r.output(w.Problem.Output()), r.inputs(w.Problem, v.values))
		}
		if err != nil {
			return fmt.Errorf("%s, a %s: %w", of.Name, of.Operator, err)
		}
		v.values[of.Output.Name] = of.Output
		v.Regions = append(v.Regions, r)
	}
	if len(v.Regions) == 0 {
		return fmt.Errorf("no region has a kernel")
	}
	return nil
}

// kernel is the view of a winner's kernel, or that of an earlier region with the same kernel.
func (v *programView) kernel(name string, w cudasource.Winner) (view, error) {
	if len(w.Kernel.Flags) > 0 {
		return view{}, fmt.Errorf("its kernel is compiled with %s; a module sets no flags", strings.Join(w.Kernel.Flags, " "))
	}
	k, err := kernelOf(w, name)
	if err != nil {
		return k, err
	}
	own := w.Problem.Operator.Arguments
	if why := unserved(own[:len(own)-len(w.Problem.Operator.Epilogue())], k.Element); why != "" {
		return k, fmt.Errorf("%s; a module takes %s and gives one", why, k.Element.taken())
	}
	key := w.Kernel.Digest() + strings.Join(k.Serves, "\n") + w.Problem.Math
	if same, seen := v.kernels[key]; seen {
		return same, nil
	}
	// Two kernels with one name in C could not be linked into one library. In C++ each namespace has its own.
	k.Tuned = strings.ReplaceAll(k.Tuned, `extern "C" __global__`, "__global__")
	if k.TunedFile, err = fill("tuned_host.cu.tmpl", k); err == nil && strings.Contains(k.TunedFile, `"""`) {
		err = fmt.Errorf("%s has three quotes in a row, which end a string in Python", w.Kernel.File)
	}
	v.Kernels, v.kernels[key] = append(v.Kernels, k), k
	return k, err
}

// output writes how the function allocates the region's output.
func (r *regionView) output(made operator.Argument) error {
	t := r.Region.Output
	fits := t.Type == torchTypes[made.Type] && made.Elements > 0 && len(t.Strides) == len(t.Shape) &&
		t.Elements() == made.Elements && (made.Order == nil || slices.Equal(made.Shape, t.Shape))
	var strides []int64
	if fits {
		strides = stridesOf(t.Shape, made.Order)
	}
	for i, n := range t.Shape {
		fits = fits && (n == 1 || t.Strides[i] == strides[i])
	}
	if !fits {
		return fmt.Errorf("its kernel writes %s of shape %v in the order %v, and %s is %s of shape %v with strides %v",
			torchTypes[made.Type], made.Shape, made.Order, t.Name, t.Type, t.Shape, t.Strides)
	}
	r.Made = "torch.empty(" + integers(t.Shape)
	if made.Order != nil {
		r.Made = fmt.Sprintf("torch.empty_strided(%s, %s", integers(t.Shape), integers(strides))
	}
	r.Made += fmt.Sprintf(", dtype=torch.%s, device=read[0].device)", t.Type)
	return nil
}

// inputs writes what the function gives the kernel for each argument.
func (r *regionView) inputs(p *operator.Problem, values map[string]program.Tensor) error {
	names := reserved("torch dense renew launch read y")
	for _, a := range p.Arguments {
		if !a.Role.Filled() {
			continue
		}
		in, given := lists.First(r.Region.Inputs, func(in program.Input) bool { return in.Argument == a.Name })
		if !given && a.Elements == 0 {
			r.Passed = append(r.Passed, "None")
			continue
		}
		t, known := values[in.Value]
		if !known || t.Type != torchTypes[a.Type] || !slices.Equal(in.Shape, a.Shape) || a.Elements != t.Elements() {
			return fmt.Errorf("its argument `%s` is %s of shape %v, and the plan gives it %.80q, %s of shape %v, as %v",
				a.Name, torchTypes[a.Type], a.Shape, in.Value, t.Type, t.Shape, in.Shape)
		}
		if a.Order != nil && a.Order[len(a.Order)-1] != 1 {
			return fmt.Errorf("its argument `%s` is neither row-major nor channels-last", a.Name)
		}
		name := names.free(a.Name)
		passed := name
		if !slices.Equal(t.Shape, a.Shape) {
			passed += ", " + integers(a.Shape)
		}
		if a.Order != nil {
			passed += `, order="nhwc"`
		}
		if a.Role == operator.InOut {
			r.Writes = append(r.Writes, fmt.Sprintf("renew(%s, read[%d])", name, len(r.Passed)))
		}
		r.Takes, r.Values, r.Passed = append(r.Takes, name), append(r.Values, in.Value), append(r.Passed, "dense("+passed+")")
	}
	if len(r.Values) != len(r.Region.Inputs) {
		return fmt.Errorf("the plan gives it %d tensors, and its kernel reads %d", len(r.Region.Inputs), len(r.Values))
	}
	return nil
}

// head is the comment at the beginning of the file.
func (v programView) head() string {
	lines := []string{
		fmt.Sprintf("ModelNew computes what %s computes. Each region below is one tuned CUDA kernel, and PyTorch computes the", v.Model),
		fmt.Sprintf("rest. The kernels serve calls with these inputs, and every other call runs %s's own forward:", v.Model),
	}
	for _, t := range v.Plan.Graph.Inputs {
		lines = append(lines, fmt.Sprintf("    %s: %s of shape %s", t.Name, t.Type, integers(t.Shape)))
	}
	for _, r := range v.Regions {
		lines = append(lines, "", fmt.Sprintf("%s computes %s:", r.Region.Name, strings.Join(r.Region.Nodes, ", ")), "    "+r.Problem.String())
		if t, _ := r.Problem.Operator.Template(r.Kernel.Template); t.Summary != "" {
			lines = append(lines, "    "+t.Summary)
		}
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(strings.TrimRight("# "+quote.PythonComment(line), " ") + "\n")
	}
	return b.String()
}

// stridesOf are the strides of a dense tensor with its axes in an order, from the outermost to the innermost. It is
// row-major without one.
func stridesOf(shape []int64, order []int) []int64 {
	if order == nil {
		order = lists.Places(len(shape))
	}
	strides, step := make([]int64, len(shape)), int64(1)
	for _, axis := range slices.Backward(order) {
		strides[axis] = step
		step *= shape[axis]
	}
	return strides
}

// integers writes a tuple of integers.
func integers(numbers []int64) string {
	return tuple(lists.Of(numbers, func(n int64) string { return strconv.FormatInt(n, 10) }))
}
