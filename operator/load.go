package operator

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"autotune/internal/cudafile"
	"autotune/internal/lists"
	"autotune/operator/tree"
	"autotune/space/expr"
	"autotune/templates"
)

// Load reads the operator in a folder of fsys. The operator's kernels may include files of the same folder and of the
// built-in include folder.
//
// Load checks everything that can be checked without a GPU, and returns the first fault as a *tree.Error.
func Load(fsys fs.FS, dir string) (*Operator, error) { return load(fsys, dir, "") }

// LoadFile reads an operator from a single CUDA file, whose first comment describes the operator as op.yaml would. The
// CUDA file also contains the operator's kernels, unless the description names another file.
func LoadFile(fsys fs.FS, dir, name string) (*Operator, error) { return load(fsys, dir, name) }

// load reads an operator from the file single or, if single is "", from op.yaml.
func load(fsys fs.FS, dir, single string) (*Operator, error) {
	faults := &tree.Faults{}
	name := cmp.Or(single, "op.yaml")
	file := tree.File{
		Name: path.Join(dir, name), What: "an operator's description",
		Empty: "it starts with `operator: NAME`", Second: "one " + name + " describes one operator",
		Faults: faults,
	}
	whole := faults.At(file.Name, 0, 0)
	l := &loader{folder: folder{faults: faults, fsys: fsys, dir: dir, files: map[string]string{}, paths: map[string]string{}, lines: map[string][]string{}}}
	text, err := l.read(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && single == "":
		whole.RefuseHint("an operator is a folder with an op.yaml, or one .cu file", "there is no such file")
	case errors.Is(err, fs.ErrNotExist):
		whole.Refuse("there is no such file")
	case err != nil:
		whole.Refuse("the file %v", err)
	}
	if single != "" && err == nil {
		description, kernels, ok := partFile(text)
		if !ok {
			whole.Line, whole.Column = 1, 1
			whole.RefuseHint("it starts with `/*` and `operator: NAME`", "the file begins with no comment that describes an operator")
		}
		text, l.own = description, &Source{File: name, Text: kernels}
	}
	root := file.Parse(text)
	in := tree.Includer{Read: l.include, Shared: fileNames(templates.FS, "include/*.yaml")}
	in.Expand(root, "")
	o := &Operator{File: file.Name, files: l.files, FillKernels: map[string]*OwnKernel{}, Parameters: []ParameterSpec{}}
	l.language = &language{o, expr.Macros{Named: map[string]expr.Macro{}}, map[string]bool{}, faults}
	o.mentioned = l.seen
	l.operator(root)
	if !l.Failed() {
		o.checkExample()
	}
	if l.Failed() {
		return nil, l.Err()
	}
	return o, nil
}

// loader builds an operator from its description. The loader's methods record the first fault, which Load returns.
type loader struct {
	*language
	folder
	all         []string   // axes, those of templates too
	own         *Source    // the kernels of an operator in a single file; nil: the operator is a folder
	referenceAt *tree.Node // the name of the template whose default is the reference, or nil
}

// operator reads an op.yaml's tree into l.o, and declares each name before it reads expressions that may use the name.
func (l *loader) operator(root *tree.Node) {
	f := fields(root, "an operator")
	o, names := l.o, scope{}
	o.Name, o.Summary = f["operator"].Name(), tree.Optional(f["summary"], (*tree.Node).Text, "")
	if f["macros"] != nil && f["macros"].OneOf("naming of macros", "upper", "same") == "same" {
		o.Macros = SameMacros
	}
	o.MathModes = []string{usualMath}
	if f["math"] != nil {
		o.MathModes = l.names(f["math"], "math")
	}
	o.Shape = l.names(f["shape"], "shape")
	l.all = tree.Optional(f["axes"], func(n *tree.Node) []string { return l.names(n, "axes") }, nil)
	l.Axes = lists.Where(l.all, func(axis string) bool { // axes that are derived values belong only to templates
		return f["derived"] == nil || f["derived"].Get(axis) == nil
	})
	for _, n := range f["shape"].Items {
		l.declare(names, n.Position, n.Name(), "dimension")
	}
	l.parameters(f["parameters"], names)
	l.define(f["let"], names)
	l.example(f["example"])
	l.math(f["math"], f["auto"], names)

	names["math"] = "math mode"
	o.Derived = l.definitions(l.named(f["derived"], derivedForm), names)
	formula := l.over(names)
	for _, e := range f["requires"].Mapped("requires must be a mapping of conditions to what to say where they are false") {
		o.Requires = append(o.Requires, Requirement{That: formula(e.Name()), Because: l.interpolated(e.Value, names)})
	}
	l.arguments(f["tensors"], names, f["tolerance"])
	l.epilogues(f["parameters"])
	o.Inputs = Distributions()
	if n := f["inputs"]; n != nil {
		o.Inputs = l.names(n, "inputs")
		for _, item := range n.Items {
			item.OneOf("distribution", distributions...)
		}
	}
	o.Deterministic = tree.Optional(f["deterministic"], (*tree.Node).Bool, true)
	o.Bytes, o.Flops = l.cost(f["cost"], formula)
	if l.own == nil {
		if f["reference"] = l.usual(f["reference"], root, "reference.cu"); f["reference"] == nil {
			root.RefuseHint("or the folder a reference.cu", "an operator lacks the key `reference`")
		}
	}
	l.reference(f["reference"], root)
	l.templates(f["templates"], names)
	if l.referenceAt != nil {
		l.referenceAt.OneOf("reference: no file and no template", templateNames(o.Templates)...)
	}
	switch {
	case o.Answers != nil:
		o.Right = o.Answers.String()
	case o.ReferenceTemplate != "":
		o.Right = "the default of template " + o.ReferenceTemplate
	default:
		o.Right = o.Reference.File
	}
	l.separate()
	o.PyTorch = tree.Pointer(f["pytorch"], l.pytorch)
}

// cost reads the formulas for the bytes that a launch moves and the operations that it computes. If op.yaml states no
// cost, the launch is assumed to move each tensor once.
func (l *loader) cost(n *tree.Node, formula func(*tree.Node) Formula) (bytes, flops Formula) {
	cost := list(l.language, n, "cost", formula)
	if n != nil && (len(cost) < 1 || len(cost) > 2) {
		n.RefuseHint("as [8*n, 2*n]", "cost has one number or two: bytes, and operations")
	}
	if n == nil && !l.Failed() {
		moved := lists.Of(lists.Where(l.o.Arguments, func(a ArgumentSpec) bool { return len(a.Shape) > 0 }), ArgumentSpec.moved)
		cost = []Formula{constant(strings.Join(moved, " + "))}
	}
	cost = append(cost, constant("0"), constant("0"))
	return cost[0], cost[1]
}

// moved returns an expression for the number of bytes that a launch reads and writes of a tensor.
func (a ArgumentSpec) moved() string {
	bytes := fmt.Sprint(a.Types[len(a.Types)-1].Bytes())
	for _, t := range a.Types[:len(a.Types)-1] {
		bytes = fmt.Sprintf("%d if %s == '%s' else %s", t.Bytes(), a.TypeBy, t, bytes)
	}
	sizes := lists.Of(a.Shape, func(f Formula) string { return "(" + f.Text + ")" })
	times := map[Role]string{InOut: "2*", Workspace: "0*"}[a.Role]
	return times + "(" + bytes + ")*" + strings.Join(sizes, "*")
}

// example reads a typical problem, which must set all parameters that have no default.
func (l *loader) example(n *tree.Node) {
	if n == nil {
		return
	}
	first, others, _ := strings.Cut(strings.Join(strings.Fields(n.Text()), " "), " ")
	shape, err := ParseShape(first)
	if err != nil {
		n.Refuse("%v", err)
	}
	l.o.Example, l.o.exampleAt = shape, n.Position
	for _, word := range strings.Fields(others) {
		name, value, _ := strings.Cut(word, "=")
		spec := l.o.parameter(name)
		if spec == nil {
			n.RefuseHint(tree.NearestOrAll(name, "there are", l.o.parameterNames()), "unknown parameter `%s`", name)
			return
		}
		if _, err := spec.parse(value); err != nil {
			n.Refuse("%v", err)
		}
		if l.o.Preset == nil {
			l.o.Preset = map[string]string{}
		}
		l.o.Preset[name] = value
	}
}

// distributions are the names of the distributions from which devices can fill input tensors.
var distributions = []string{"uniform01", "normal", "negative", "special"}

func Distributions() []string { return slices.Clone(distributions) }

// Extremes lists the input distributions that only the final correctness gates try: all zeros, all equal, only four
// different values, values near the least number, and values of about 2^50.
func Extremes() []string { return []string{"zeros", "equal", "repeated", Tiny, Large} }

// The extreme distributions Tiny and Large change how precise an output can be.
const (
	Tiny  = "tiny"
	Large = "large"
)

// LargeScale returns the approximate magnitude of Large numbers in a type. The square of a number from the distribution
// Large, or a sum of such squares, does not overflow f32, so a correct kernel may square its inputs.
func LargeScale(t Type) float64 {
	switch t {
	case F16, F8E5M2:
		return 0x1p9
	case F8E4M3:
		return 0x1p5
	}
	return 0x1p50
}

// Extremes returns the extreme distributions that suit the distributions of the operator: numbers from 0 to 1 if it
// lists uniform01 or normal, and any numbers if it lists normal. Extremes returns none for operators that list neither
// uniform01 nor normal, such as those that bound their inputs otherwise. Large is left out if there are several inputs,
// because in attention large scores would let rounding alone decide which of two nearly equal keys gets all weight.
func (o *Operator) Extremes() []string {
	drawn := 0
	for _, a := range o.Arguments {
		if a.Role == Input && a.Fill == nil {
			drawn++
		}
	}
	switch all := Extremes(); {
	case slices.Contains(o.Inputs, "normal") && drawn == 1:
		return all
	case slices.Contains(o.Inputs, "normal"), slices.Contains(o.Inputs, "uniform01"):
		return slices.DeleteFunc(all, func(name string) bool { return name == Large })
	}
	return nil
}

// kernelFile reads a CUDA file with all files that it includes, and checks that the file defines the kernels named by
// entries. If a template names no file, the error for a missing file has the template's position in op.yaml.
func (l *loader) kernelFile(n, parent *tree.Node, entries ...string) Source {
	s := Source{}
	switch {
	case n != nil:
		s = l.file(n, "*.cu")
	case l.own != nil:
		s, n = *l.own, parent
	default:
		parent.Refuse("which file is the kernel `%s` in? `source: NAME.cu` says it", entries[0])
		return s
	}
	for _, entry := range entries {
		if !defines(s.Text, entry) {
			s.lacks(n, entry, "its entry point is extern \"C\" __global__ void "+entry+"(...)")
		}
	}
	return l.withIncludes(s, path.Join(l.dir, s.File))
}

// separate reduces the source of each kernel to its own part if one file contains all kernels, so that editing one
// template does not change the other kernels of the file.
func (l *loader) separate() {
	o := l.o
	if model, ok := o.Template(o.ReferenceTemplate); ok {
		defer func() { o.Reference = model.Source }()
	}
	if l.own == nil {
		return
	}
	needs := map[string]bool{}
	for _, t := range o.Templates {
		for _, name := range tunableNames(t) {
			needs[name] = true
		}
		for _, d := range t.Derived {
			needs[d.Name] = true
		}
	}
	var among []string
	for _, s := range o.sources() {
		among = append(among, s.entries...)
	}
	with := cudafile.Alone(l.own.Text, among)
	for _, s := range o.sources() {
		if s.File != l.own.File {
			continue
		}
		s.Text, s.alone = with(s.entries), map[string]bool{}
		words := s.words()
		for name := range needs {
			s.alone[name] = words[o.Macros.Macro(name)]
		}
	}
}

// kernelSource is the source of a template, the reference, a fill or the comparison, with the names of its kernels.
type kernelSource struct {
	*Source
	entries []string
}

func (o *Operator) sources() []kernelSource {
	all := []kernelSource{{&o.Reference, []string{o.referenceEntry}}}
	for _, t := range o.Templates {
		all = append(all, kernelSource{&t.Source, t.entries()})
	}
	for _, name := range sorted(o.FillKernels) {
		k := o.FillKernels[name]
		all = append(all, kernelSource{&k.Source, []string{k.Entry}})
	}
	if k := o.Compare; k != nil {
		all = append(all, kernelSource{&k.Source, []string{k.Entry}})
	}
	return all
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
