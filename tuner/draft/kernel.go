package draft

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"autotune/internal/cudafile"
	"autotune/operator"
	"autotune/space"
	"autotune/space/expr"
)

// Choose finds the kernel of a file that is meant: the only one, or the one of the operator's name.
func Choose(text, name string) (cudafile.Kernel, error) {
	kernels := cudafile.Kernels(text)
	if len(kernels) == 1 {
		return kernels[0], nil
	}
	var names []string
	for _, k := range kernels {
		if k.Name == name {
			return k, nil
		}
		names = append(names, k.Name)
	}
	if len(names) == 0 {
		return cudafile.Kernel{}, fmt.Errorf("it defines no kernel: no function is __global__")
	}
	return cudafile.Kernel{}, fmt.Errorf("it has several kernels, %s; name the operator after the one that you mean, as in: autotune init %s --from FILE", strings.Join(names, ", "), names[0])
}

// FromKernel is the operator of a kernel, as far as the kernel's own file tells: its arguments, its macros and template
// parameters, the threads of its blocks. What it does not tell is a guess with a comment.
func FromKernel(name, text string, k cudafile.Kernel) (Operator, error) {
	f := fromKernel{text: text, kernel: k, words: cudafile.Words(text), source: SourceOf(text), body: k.Body}
	if !strings.Contains(k.Body, "blockIdx") {
		f.body += ";" + f.source.active
	}
	f.o = Operator{
		Head:    []string{"What the kernel's file tells is filled in; a comment stands where it does not."},
		Name:    name,
		Summary: "The kernel " + k.Name + ".",
		Notes: map[string][]string{
			"shape":     {"The sizes that a problem is told by. Kernels know them as macros, too."},
			"tensors":   {"The kernel's arguments in order. How many elements has each tensor? Here: as many as the problem."},
			"cost":      {"For the roofline: each input read once, each output written once; flops, if you know them."},
			"reference": {"What the default makes is taken for right; a kernel of its own would prove it."},
			"tunables":  {"Give each the values to try, as [64, 128, 256]. A macro that must stay as it is can go from here."},
			"launch":    {"How many threads has a block, and how many blocks are there?"},
			"default":   {"A kernel's file that defines no value for a macro leaves it to tuners: it is 1 here, or a usual block."},
		},
	}
	f.o.Template = Template{Name: "tuned", Entry: k.Name}
	if k.Unclear {
		return f.o, fmt.Errorf("the parameters of %s depend on conditions (#if): write op.yaml by hand", k.Name)
	}
	if err := f.templateParameters(); err != nil {
		return f.o, err
	}
	f.macros()
	f.undefined()
	f.sizes()
	f.launch()
	return f.o, f.arguments()
}

var wordForm = regexp.MustCompile(`[A-Za-z_]\w*`)

type fromKernel struct {
	text   string
	kernel cudafile.Kernel
	body   string // the kernel's code; with what it calls, where that alone mentions blockIdx
	words  map[string]bool
	source Source
	o      Operator
	size   string            // elements of the problem
	sizeOf map[string]string // of the integers that the kernel takes
	side   int64             // of a problem whose size is a macro; 0: it is none
	types  map[string]string // of the template's type parameters
	// renamed are the template's other parameters by the names of their tunables: a
	// macro of the parameter's own name would take its place in the kernel.
	renamed map[string]string
}

// templateParameters are tunables, and types that are guessed.
func (f *fromKernel) templateParameters() error {
	if len(f.kernel.Template) == 0 {
		return nil
	}
	f.types, f.renamed = map[string]string{}, map[string]string{}
	var arguments []string
	for _, p := range f.kernel.Template {
		if _, twice := f.renamed[p.Name]; p.Name == "" || twice {
			return fmt.Errorf("line %d, column %d: a template parameter of %s has no name of its own: write op.yaml by hand", p.Line, p.Column, f.kernel.Name)
		}
		switch p.Type {
		case "typename", "class":
			f.types[p.Name] = "float"
			arguments = append(arguments, "float")
			continue
		}
		name := f.unused(strings.ToLower(p.Name))
		for f.has(name) {
			name += "_"
		}
		f.renamed[p.Name] = name
		if p.Type == "bool" {
			f.tunable(name, expr.Bool(false), expr.Bool(true))
		} else {
			f.tunable(name, expr.Int(usualValue(name, false)))
		}
		arguments = append(arguments, "{"+name+"}")
	}
	f.o.Template.Entry += "<" + strings.Join(arguments, ", ") + ">"
	return nil
}

func (f *fromKernel) tunable(name string, values ...expr.Value) {
	t := &f.o.Template
	t.Tunables = append(t.Tunables, space.Tunable{Name: name, Values: values})
	t.Default = append(t.Default, space.Value{Name: name, Value: values[0]})
}

// macros are tunables of one value, unless the value is put together of others.
func (f *fromKernel) macros() {
	for _, m := range cudafile.Macros(f.text) {
		n, err := strconv.ParseInt(m.Value, 0, 64)
		switch {
		case f.has(m.Name):
		case err == nil:
			f.tunable(m.Name, expr.Int(n))
		case m.Value == "true" || m.Value == "false":
			f.tunable(m.Name, expr.Bool(m.Value == "true"))
		}
	}
}

// undefined are the macros that the file leaves to tuners.
func (f *fromKernel) undefined() {
	names := f.source.Undefined(f.text)
	for _, name := range names {
		if f.has(name) || f.types[name] != "" || f.renamed[name] != "" {
			continue
		}
		f.tunable(name, expr.Int(usualValue(name, slices.Contains(names, "block_size_y"))))
	}
	if len(names) == 0 {
		delete(f.o.Notes, "default")
	}
}

// usualValue is a value that a macro may have which only its name tells of.
func usualValue(name string, plane bool) int64 {
	switch lower := strings.ToLower(name); {
	case isBlock(name):
		return 256
	case lower == "block_size_x" && plane || lower == "block_size_y":
		return 16
	case lower == "block_size_x" || strings.HasPrefix(lower, "block_size") && !strings.HasSuffix(lower, "_z"):
		return 256
	}
	return 1
}

// isBlock tells whether a name is one that people give the number of a block's threads.
func isBlock(name string) bool {
	return slices.Contains([]string{"blocksize", "blockdim", "threads", "numthreads", "threadsperblock"}, strings.ToLower(strings.ReplaceAll(name, "_", "")))
}

func (f *fromKernel) has(name string) bool {
	return slices.ContainsFunc(f.o.Template.Tunables, func(t space.Tunable) bool { return t.Name == name })
}

// sizes are the problem's: the integers that the kernel takes by value.
func (f *fromKernel) sizes() {
	f.sizeOf = map[string]string{}
	for _, p := range f.kernel.Parameters {
		if kind, lanes, ok := f.source.Type(p.Type); ok && lanes == 1 && !p.Pointer && kind.Kind() != operator.Floating && kind != operator.Bool {
			f.o.Shape = append(f.o.Shape, Dimension{Name: f.unused("size_" + p.Name)})
			f.sizeOf[p.Name] = f.o.Shape[len(f.o.Shape)-1].Name
		}
	}
	example := int64(512)
	if len(f.o.Shape) < 2 {
		example = 4096
	}
	if len(f.o.Shape) == 0 {
		f.o.Shape = []Dimension{{Name: f.unused("size")}}
		if fixed := f.fixedSize(); fixed > 1 {
			example = fixed
			f.o.Requires = []Requirement{{fmt.Sprintf("%s == %d", f.o.Shape[0].Name, fixed), "the kernel's file has its sizes as macros"}}
		}
	}
	var names []string
	for i := range f.o.Shape {
		f.o.Shape[i].Example = example
		names = append(names, f.o.Shape[i].Name)
	}
	f.size = strings.Join(names, "*")
}

// fixedSize is how many elements a problem has whose sizes are macros of the kernel's
// file; 0 if there are none. A plane of one size is a square.
func (f *fromKernel) fixedSize() int64 {
	product, sizes := int64(1), 0
	words := cudafile.Words(f.kernel.Body)
	for _, name := range slices.Sorted(maps.Keys(f.source.Macros)) {
		if n := f.source.Number(name); n >= leastSize && words[name] && !f.has(name) && sizes < 3 && n < 1<<20 {
			product *= n
			f.side = n
			sizes++
		}
	}
	switch {
	case sizes == 0:
		return 0
	case sizes == 1 && blockIdxForm("y").MatchString(f.kernel.Body):
		return product * product
	}
	return product
}

// leastSize is the least number that is taken for a size.
const leastSize = 256

func blockIdxForm(axis string) *regexp.Regexp {
	return regexp.MustCompile(`\bblockIdx\s*\.\s*` + axis + `\b`)
}

// unused is a name that means nothing to the kernel, for it becomes a macro.
func (f *fromKernel) unused(name string) string {
	for f.words[name] {
		name += "_"
	}
	return name
}

// arguments reads the kernel's parameters.
func (f *fromKernel) arguments() error {
	var bytes []string
	compared, next := false, 0
	for i, p := range f.kernel.Parameters {
		a := Argument{Name: p.Name}
		a.Name = cmp.Or(a.Name, fmt.Sprintf("argument_%d", i+1))
		known := p.Type
		if guess, ok := f.types[known]; ok {
			known = guess
		}
		kind, lanes, ok := f.source.Type(known)
		if p.Unclear || !p.Pointer && (!ok || lanes > 1) {
			return fmt.Errorf("line %d, column %d: the parameter %s of %s is neither a number nor a pointer: write op.yaml by hand", p.Line, p.Column, a.Name, f.kernel.Name)
		}
		if !ok {
			kind, lanes, a.Comment = operator.F32, 1, "which type is "+p.Type+"?"
		}
		a.Type = string(kind)
		if p.Pointer {
			f.tensor(&a, p, kind)
			if lanes > 1 {
				a.Size = fmt.Sprintf("%d*%s", lanes, a.Size)
			}
			compared = compared || a.Role == "output" || a.Role == "inout"
			bytes = append(bytes, fmt.Sprintf("%d*%s", kind.Bytes(), a.Size))
		} else if kind.Kind() != operator.Floating && kind != operator.Bool {
			a.Value, next = f.o.Shape[next].Name, next+1
		} else if kind == operator.Bool {
			a.Value, a.Comment = "1", "which value?"
		} else {
			a.Value = f.unused("value_" + a.Name)
			f.o.Parameters = append(f.o.Parameters, a.Value+": {type: float, default: 1.0}  # which value?")
		}
		f.o.Arguments = append(f.o.Arguments, a)
	}
	if !compared {
		return fmt.Errorf("%s writes to none of its parameters, as far as its text tells: write op.yaml by hand", f.kernel.Name)
	}
	f.o.Bytes = strings.Join(bytes, " + ")
	return nil
}

// tensor says what the kernel does with a tensor.
func (f *fromKernel) tensor(a *Argument, p cudafile.Parameter, kind operator.Type) {
	use := f.kernel.Use(p.Name)
	a.Size = f.size
	switch {
	case p.Const:
		a.Role = "input"
	case use.Written && use.Read:
		a.Role, a.Comment = "inout", "read and written, or a workspace?"
	case use.Written:
		a.Role = "output"
	case use.Read:
		a.Role, a.Comment = "input", "not const, but nothing writes to it"
	default:
		a.Role, a.Comment = "inout", "what does the kernel do with it?"
	}
	elements, blocks, more := extent(f.kernel, p.Name)
	switch {
	case elements > 0:
		a.Size = strconv.FormatInt(elements, 10)
	case blocks:
		a.Size, a.Comment = f.blocks(), "one for each block of the default"
	case more > 0 && a.Role == "input":
		a.Size = fmt.Sprintf("%s + %d", f.size, more)
	}
	if a.Role == "input" && kind.Kind() != operator.Floating && kind != operator.Bool && a.Comment == "" {
		a.Comment = "of indices, fill says what they may be, as in: integers(0, size - 1)"
	}
}

// blocks is how many blocks the default has.
func (f *fromKernel) blocks() string {
	return wordForm.ReplaceAllStringFunc(f.o.Template.Grid[0], func(word string) string {
		if v, ok := f.o.Template.Default.Get(word); ok {
			return v.Source()
		}
		return word
	})
}

// launch takes the block from __launch_bounds__ or from macros with the usual names.
func (f *fromKernel) launch() {
	t := &f.o.Template
	t.Block, t.Grid = [3]string{"256", "1", "1"}, [3]string{"", "1", "1"}
	usual := false
	for i, axis := range []string{"x", "y", "z"} {
		for _, name := range []string{"block_size_" + axis, "BLOCK_SIZE_" + strings.ToUpper(axis), "BLOCK_" + strings.ToUpper(axis)} {
			if f.has(name) {
				t.Block[i], usual = name, true
			}
		}
	}
	bounds, _, _ := strings.Cut(f.kernel.LaunchBounds, ",")
	if bounds == "" && !usual {
		for _, tunable := range t.Tunables {
			if isBlock(tunable.Name) {
				t.Block[0], usual = tunable.Name, true
			}
		}
	}
	bounds = wordForm.ReplaceAllStringFunc(bounds, func(word string) string { return cmp.Or(f.renamed[word], word) })
	if e, err := expr.Parse(bounds); err == nil && !usual && !slices.ContainsFunc(e.Names(), func(name string) bool { return !f.has(name) }) {
		t.Block[0] = strings.TrimSpace(bounds)
	}
	for i, axis := range []string{"x", "y", "z"} {
		extent, perThread, found := f.along(axis)
		divisor := t.Block[i]
		for _, name := range perThread {
			if !slices.ContainsFunc(t.Block[:], func(block string) bool { return slices.Contains(wordForm.FindAllString(block, -1), name) }) {
				divisor += "*" + name
			}
		}
		divisor = strings.TrimPrefix(divisor, "1*")
		switch {
		case found:
			t.Grid[i] = ceilDiv(extent, divisor)
		case i == 0 && !f.many(axis):
			t.Grid[i] = "1"
		case i == 0:
			t.Grid[i] = ceilDiv(f.size, divisor)
		}
		for _, tunable := range t.Tunables {
			if name := strings.ToLower(tunable.Name); slices.Contains([]string{"num_blocks_" + axis, "grid_size_" + axis}, name) || i == 0 && slices.Contains([]string{"num_blocks", "grid_size"}, name) {
				t.Grid[i] = tunable.Name
			}
		}
	}
}

var anyGridForm = regexp.MustCompile(`\bblockIdx\s*[^.\s]|\bthis_grid\b|\bctaid\b`)

// many tells whether blocks along an axis differ in anything that the kernel's file shows.
func (f *fromKernel) many(axis string) bool {
	return strings.Contains(f.text, "#include \"") || anyGridForm.MatchString(f.source.active) || blockIdxForm(axis).MatchString(f.source.active)
}

func ceilDiv(a, b string) string {
	if b == "1" {
		return a
	}
	return fmt.Sprintf("ceil_div(%s, %s)", a, b)
}

// along follows what the kernel makes of blockIdx along an axis. It finds the size that
// this is compared with, an integer of the kernel's or a number, and the tunables in it.
func (f *fromKernel) along(axis string) (extent string, perThread []string, found bool) {
	index := blockIdxForm(axis)
	for _, statement := range statementForm.FindAllString(f.body, -1) {
		if !index.MatchString(statement) {
			continue
		}
		for _, word := range wordForm.FindAllString(statement, -1) {
			word = cmp.Or(f.renamed[word], word)
			if f.has(word) && !slices.Contains(perThread, word) {
				perThread = append(perThread, word)
			}
		}
	}
	follows := follow(f.body, index.MatchString)
	for _, m := range comparedForm.FindAllStringSubmatch(f.body, -1) {
		if !mentions(m[1], follows) {
			continue
		}
		if size := f.sizeOf[m[2]]; size != "" {
			return size, perThread, true
		}
		if n := f.source.Number(m[2]); n > 1 && !f.has(m[2]) {
			return strconv.FormatInt(n, 10), perThread, true
		}
	}
	f.o.Unguarded = f.o.Unguarded || len(follows) > 0
	if f.side > 0 && index.MatchString(f.body) {
		return strconv.FormatInt(f.side, 10), perThread, true
	}
	return "", perThread, false
}

// comparedForm is what is compared with a size, and the size.
var comparedForm = regexp.MustCompile(`([^;<>=&|(),?{}]*)(?:<|>=)\s*(\w+)`)
