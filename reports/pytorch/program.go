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
	Winners map[string]cudasource.Winner // by the region's name; a region without one is computed by PyTorch
	Source  string                       // the user's file, whole
	Model   string                       // the class in it; "": Model
	Story   []string                     // what the file's head says of the search: plain text
}

// WriteProgram writes the program as one Python file: the user's source, and a class ModelNew that is the user's class
// with another forward. In it each region that has a winner is one kernel, and each other node a call of PyTorch's.
func WriteProgram(out io.Writer, p Program) error {
	p.Model = cmp.Or(p.Model, "Model")
	if !quote.IsPythonName(p.Model) || p.Model == "ModelNew" {
		return fmt.Errorf("the class %.80q cannot be the base of ModelNew: it must be a name of Python, and another one", p.Model)
	}
	v := programView{Program: p}
	if err := cmp.Or(v.regions(), v.tensors(), v.forward()); err != nil {
		return fmt.Errorf("%s as a module with tuned kernels: %w", p.Model, err)
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

// programView is what program.py.tmpl is filled with.
type programView struct {
	Program
	Regions   []regionView
	Kernels   []view        // of the regions: equal ones once
	Given     []givenTensor // to the program: inputs, then state
	State     []givenTensor // parameters and buffers that it reads
	Collected []string      // lines of forward that put what is given together, and
	Assigned  []string      // that give it names
	Constants []string      // what torch.tensor is given for each
	Lines     []string      // of forward
	Mutated   []string      // parts of the model that the program writes
	Training  string        // "True" or "False": the program is of this mode; "": of either
	Random    bool          // a call gives other numbers each time, or writes an input
	Extension string
}

// regionView is a region that has a kernel, as a function of Python.
type regionView struct {
	view   // of the kernel, which may be another region's too
	Region program.Region
	Takes  []string // names of the function's arguments
	Values []string // of the graph that they are
	Passed []string // to the kernel, in Python
	Made   string   // the output
	Writes []string // lines that take what the kernel wrote to tensors that it read
	Doc    string
}

// givenTensor is an input, or a part of the model that the program reads.
type givenTensor struct {
	Type, Size, Steps string
	Name              string // in forward
	Expression, About string
}

// Calls tells whether a kernel's condition calls a function.
func (v programView) Calls(name string) bool {
	return slices.ContainsFunc(v.Kernels, func(k view) bool { return strings.Contains(strings.Join(k.Serves, "\n"), name+"(") })
}

// regions makes the views of all regions that have winners.
func (v *programView) regions() error {
	for _, step := range v.Plan.Steps {
		if step.Region == nil {
			continue
		}
		w, won := v.Winners[step.Region.Name]
		if !won {
			continue
		}
		r, err := v.region(*step.Region, w)
		if err != nil {
			return fmt.Errorf("%s, a %s: %w", step.Region.Name, step.Region.Operator, err)
		}
		v.Regions = append(v.Regions, r)
	}
	if len(v.Regions) == 0 {
		return fmt.Errorf("no region has a kernel")
	}
	return nil
}

func (v *programView) region(of program.Region, w cudasource.Winner) (r regionView, err error) {
	if !regexp.MustCompile(`^region_\d{1,6}$`).MatchString(of.Name) {
		return r, fmt.Errorf("a region is called region_1 or so")
	}
	r.Region = of
	if r.view, err = v.kernel(of.Name, w); err != nil {
		return r, err
	}
	r.Doc = quote.PythonDoc(strings.Join(of.Nodes, ", ") + ", by one kernel.")
	if err := r.output(w.Problem.Output()); err != nil {
		return r, err
	}
	return r, r.inputs(w.Problem, v.value)
}

// kernel is the view of a winner's kernel: that of an earlier region if it has the same.
func (v *programView) kernel(name string, w cudasource.Winner) (view, error) {
	o := w.Problem.Operator
	if len(w.Kernel.Flags) > 0 {
		return view{}, fmt.Errorf("its kernel is compiled with %s; a module sets no flags", strings.Join(w.Kernel.Flags, " "))
	}
	k, err := kernelOf(w, name)
	if err != nil {
		return k, err
	}
	if why := unserved(o.Arguments[:len(o.Arguments)-len(o.Epilogue())], k.Element); why != "" {
		return k, fmt.Errorf("%s; a module takes %s and gives one", why, k.Element.taken())
	}
	if strings.Contains(strings.Join(k.Serves, "\n"), "math") {
		k.Serves = slices.Insert(k.Serves, 0, "math = "+quote.Python(w.Problem.Math))
	}
	// Kernels of one name that are C's would meet when files are linked; those of a namespace do not.
	k.Tuned = strings.ReplaceAll(k.Tuned, `extern "C" __global__`, "__global__")
	same := func(other view) bool {
		return k.TunedDefines+k.Tuned == other.TunedDefines+other.Tuned && slices.Equal(k.Serves, other.Serves) &&
			slices.Equal(k.Launches, lists.Of(other.Launches, func(l string) string { return strings.ReplaceAll(l, other.Name+"::", name+"::") }))
	}
	if i := slices.IndexFunc(v.Kernels, same); i >= 0 {
		return v.Kernels[i], nil
	}
	if k.TunedFile, err = fill("program.cu.tmpl", struct {
		view
		First bool
	}{k, len(v.Kernels) == 0}); err != nil {
		return k, err
	}
	if strings.Contains(k.TunedFile, `"""`) {
		return k, fmt.Errorf("%s holds three quotes in a row, which end a string in Python", w.Kernel.File)
	}
	v.Kernels = append(v.Kernels, k)
	return k, nil
}

// output writes how the region's output is made.
func (r *regionView) output(made operator.Argument) error {
	t, order := r.Region.Output, made.Shape
	if torch := torchTypes[made.Type]; t.Type != torch {
		return fmt.Errorf("its kernel gives %s, and %s is %s", torch, t.Name, t.Type)
	}
	strides := rowMajor(t.Shape)
	if made.Order != nil {
		if !slices.Equal(order, t.Shape) {
			return fmt.Errorf("its kernel gives %v in an order of its own, and %s has the shape %v", order, t.Name, t.Shape)
		}
		strides = stridesOf(made.Shape, made.Order)
	}
	if made.Elements == 0 || made.Elements != elementsOf(t.Shape) {
		return fmt.Errorf("its kernel gives %v, and %s has the shape %v", made.Shape, t.Name, t.Shape)
	}
	for i, n := range t.Shape {
		if n > 1 && (len(t.Strides) != len(t.Shape) || t.Strides[i] != strides[i]) {
			return fmt.Errorf("%s has the strides %v, and its kernel writes %v", t.Name, t.Strides, strides)
		}
	}
	r.Made = fmt.Sprintf("torch.empty(%s, dtype=torch.%s, device=read[0].device)", integers(t.Shape), t.Type)
	if made.Order != nil {
		r.Made = fmt.Sprintf("torch.empty_strided(%s, %s, dtype=torch.%s, device=read[0].device)", integers(t.Shape), integers(strides), t.Type)
	}
	return nil
}

// inputs writes what the kernel is given for each of its arguments.
func (r *regionView) inputs(p *operator.Problem, value func(string) (program.Tensor, bool)) error {
	names := taken{"torch": true, "dense": true, "renew": true, "launch": true, "read": true, "y": true}
	for _, a := range p.Arguments {
		if a.Owner != "" || a.Role.Written() && a.Role != operator.InOut {
			continue
		}
		in, given := lists.First(r.Region.Inputs, func(in program.Input) bool { return in.Argument == a.Name })
		if !given && a.Elements == 0 {
			r.Passed = append(r.Passed, "None")
			continue
		}
		t, known := value(in.Value)
		switch {
		case !given || !known:
			return fmt.Errorf("its argument `%s` is no value of the graph", a.Name)
		case t.Type != torchTypes[a.Type]:
			return fmt.Errorf("its argument `%s` is of %s, and %s is %s", a.Name, torchTypes[a.Type], t.Name, t.Type)
		case !slices.Equal(in.Shape, a.Shape) || a.Elements != elementsOf(t.Shape):
			return fmt.Errorf("its argument `%s` has the shape %v, and %s has %v, as %v", a.Name, a.Shape, t.Name, t.Shape, in.Shape)
		case a.Order != nil && !slices.Equal(stridesOf(a.Shape, a.Order), channelsLast(a.Shape)):
			return fmt.Errorf("its argument `%s` lies neither as its shape is nor channels-last", a.Name)
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
		return fmt.Errorf("it has %d inputs, and its kernel reads %d tensors", len(r.Region.Inputs), len(r.Values))
	}
	return nil
}

// value finds a value of the graph.
func (v *programView) value(name string) (program.Tensor, bool) {
	g := v.Plan.Graph
	all := slices.Concat(g.Inputs, g.State)
	for _, n := range g.Nodes {
		all = append(all, n.Results...)
	}
	for _, step := range v.Plan.Steps {
		if step.Region != nil {
			all = append(all, step.Region.Output)
		}
	}
	return lists.First(all, func(t program.Tensor) bool { return t.Name == name })
}

// tensors lists what the program is given.
func (v *programView) tensors() error {
	g := v.Plan.Graph
	if len(g.Inputs) == 0 {
		return fmt.Errorf("its forward takes no tensors, by which a call could be told")
	}
	for _, t := range slices.Concat(g.Inputs, g.State) {
		if t.Values != nil {
			continue
		}
		if !tensorType(t.Type) {
			return fmt.Errorf("`%s` is of type %s; inputs and state must be tensors", t.Name, t.Type)
		}
		given := givenTensor{Type: t.Type, Size: integers(t.Shape), Steps: integers(t.Strides), Name: t.Name, About: t.Name}
		if isState := slices.ContainsFunc(g.State, func(s program.Tensor) bool { return s.Name == t.Name }); isState {
			expression, err := attribute(t.Path)
			if err != nil {
				return err
			}
			given.Expression, given.About = expression, t.Path
			v.State = append(v.State, given)
		}
		v.Given = append(v.Given, given)
	}
	read := lists.Of(v.State, func(t givenTensor) string { return t.Expression })
	v.Collected = listed("given = (", append([]string{"*inputs"}, read...), ")")
	return nil
}

// head is the comment that the file begins with.
func (v programView) head() string {
	lines := []string{
		fmt.Sprintf("ModelNew computes what %s computes. Each region below is one tuned CUDA kernel, and PyTorch computes the rest.", v.Model),
		"The kernels serve calls with these inputs, and every other call runs " + v.Model + "'s own forward:",
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
	if len(v.Story) > 0 {
		lines = append(append(lines, ""), v.Story...)
	}
	return strings.Join(lists.Of(lines, func(line string) string {
		return strings.TrimRight("# "+quote.PythonComment(line), " ") + "\n"
	}), "")
}

func elementsOf(shape []int64) int64 {
	product := int64(1)
	for _, n := range shape {
		product *= n
	}
	return product
}

// stridesOf are the strides of a dense tensor whose axes lie in an order, from the outermost to the innermost.
func stridesOf(shape []int64, order []int) []int64 {
	strides, step := make([]int64, len(shape)), int64(1)
	for _, axis := range slices.Backward(order) {
		strides[axis] = step
		step *= shape[axis]
	}
	return strides
}

func rowMajor(shape []int64) []int64 { return stridesOf(shape, lists.Places(len(shape))) }

func channelsLast(shape []int64) []int64 {
	order := lists.Places(len(shape))
	return stridesOf(shape, append(append(order[:1:1], order[2:]...), 1))
}

// integers writes a tuple of them.
func integers(numbers []int64) string {
	return tuple(lists.Of(numbers, func(n int64) string { return strconv.FormatInt(n, 10) }))
}
