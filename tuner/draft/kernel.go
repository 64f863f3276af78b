package draft

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"autotune/internal/cudafile"
	"autotune/operator"
	"autotune/space"
	"autotune/space/expr"
)

// Choose returns the only kernel of a file; if there are several, Choose returns the one with the operator's name.
func Choose(text, name string) (cudafile.Kernel, error) {
	kernels := cudafile.Kernels(text)
	var names []string
	for _, k := range kernels {
		if len(kernels) == 1 || k.Name == name {
			return k, nil
		}
		names = append(names, k.Name)
	}
	if len(names) == 0 {
		return cudafile.Kernel{}, errors.New("it defines no kernel: no function is __global__")
	}
	return cudafile.Kernel{}, fmt.Errorf("it has several kernels, %s; name the operator after the one that you mean, "+
		"as in: autotune init %s --from FILE", strings.Join(names, ", "), names[0])
}

// FromKernel drafts an operator from the kernel's own file: its arguments, macros, template parameters and the threads
// of its blocks. FromKernel guesses values that the file does not contain, and marks each guess with a comment.
func FromKernel(name, text string, k cudafile.Kernel) (Operator, error) {
	f := fromKernel{text: text, kernel: k, words: cudafile.Words(text), source: SourceOf(text), body: k.Body}
	if !strings.Contains(k.Body, "blockIdx") {
		f.body += ";" + f.source.active
	}
	f.o = Operator{Name: name, Kernel: k.Name, Entry: k.Name}
	if k.Unclear {
		return f.o, fmt.Errorf("the parameters of %s depend on conditions (#if): write op.yaml by hand", k.Name)
	}
	if err := f.templateParameters(); err != nil {
		return f.o, err
	}
	f.macros()
	f.sizes()
	f.launch()
	return f.o, f.arguments()
}

var wordForm = regexp.MustCompile(`[A-Za-z_]\w*`)

type fromKernel struct {
	text   string
	kernel cudafile.Kernel
	body   string // the kernel's code, or the whole file's if the kernel does not mention blockIdx
	words  map[string]bool
	source Source
	o      Operator
	size   string            // number of elements of the problem, an expression
	sizeOf map[string]string // the dimension for each integer parameter
	types  map[string]string // types for the template's type parameters
	// renamed maps each template parameter that is not a type to the name of its tunable. A tunable becomes a macro,
	// which must not have the parameter's own name, or it would replace the parameter in the kernel.
	renamed map[string]string
}

func (f *fromKernel) templateParameters() error {
	f.types, f.renamed = map[string]string{}, map[string]string{}
	var arguments []string
	for _, p := range f.kernel.Template {
		if p.Name == "" || f.renamed[p.Name] != "" {
			return fmt.Errorf("line %d, column %d: a template parameter of %s has no name of its own: write op.yaml by hand",
				p.Line, p.Column, f.kernel.Name)
		}
		if p.Type == "typename" || p.Type == "class" {
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
	if arguments != nil {
		f.o.Entry += "<" + strings.Join(arguments, ", ") + ">"
	}
	return nil
}

func (f *fromKernel) tunable(name string, values ...expr.Value) {
	f.o.Tunables = append(f.o.Tunables, space.Tunable{Name: name, Values: values})
}

// macros makes a tunable of each macro with a literal value, and of each name that the file expects to be defined by a
// tuner.
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
	names := f.source.Undefined(f.text)
	for _, name := range names {
		if !f.has(name) && f.types[name] == "" && f.renamed[name] == "" {
			f.tunable(name, expr.Int(usualValue(name, slices.Contains(names, "block_size_y"))))
			f.o.Guessed = true
		}
	}
}

// plain returns a name in lower case and without underscores, so that names such as BLOCK_SIZE and blockSize compare
// equal.
func plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// blockNames lists usual names for the number of threads of a block.
var blockNames = []string{"blocksize", "blockdim", "threads", "numthreads", "threadsperblock"}

// usualValue guesses a value for a macro from its name alone. `plane` says that the blocks are two-dimensional.
func usualValue(name string, plane bool) int64 {
	switch name := plain(name); {
	case name == "blocksizex" && plane || name == "blocksizey":
		return 16
	case slices.Contains(blockNames, name) || strings.HasPrefix(name, "blocksize") && !strings.HasSuffix(name, "z"):
		return 256
	}
	return 1
}

// like returns the name of a tunable whose plain name is one of the given names, or "" if there is no such tunable.
func (f *fromKernel) like(names ...string) string {
	for _, t := range f.o.Tunables {
		if slices.Contains(names, plain(t.Name)) {
			return t.Name
		}
	}
	return ""
}

func (f *fromKernel) has(name string) bool {
	return slices.ContainsFunc(f.o.Tunables, func(t space.Tunable) bool { return t.Name == name })
}

// sizes makes each integer that the kernel takes by value a dimension of the problem.
func (f *fromKernel) sizes() {
	f.sizeOf = map[string]string{}
	for _, p := range f.kernel.Parameters {
		kind, lanes, ok := f.source.Type(p.Type)
		if ok && lanes == 1 && !p.Pointer && isInteger(kind) {
			f.sizeOf[p.Name] = f.unused("size_" + p.Name)
			f.o.Shape = append(f.o.Shape, f.sizeOf[p.Name])
		}
	}
	if len(f.o.Shape) == 0 {
		f.o.Shape = []string{f.unused("size")}
	}
	f.o.Example = 512
	if len(f.o.Shape) < 2 {
		f.o.Example = 4096
	}
	f.size = strings.Join(f.o.Shape, "*")
}

func isInteger(t operator.Type) bool { return t.Kind() != operator.Floating && t != operator.Bool }

// unused returns the given name, with underscores added if the kernel's file uses it already, because the name becomes
// a macro.
func (f *fromKernel) unused(name string) string {
	for f.words[name] {
		name += "_"
	}
	return name
}

func (f *fromKernel) arguments() error {
	var bytes []string
	writes, next := false, 0
	for i, p := range f.kernel.Parameters {
		a := Argument{Name: cmp.Or(p.Name, fmt.Sprintf("argument_%d", i+1))}
		kind, lanes, ok := f.source.Type(cmp.Or(f.types[p.Type], p.Type))
		if p.Unclear || !p.Pointer && (!ok || lanes > 1) {
			return fmt.Errorf("line %d, column %d: the parameter %s of %s is neither a number nor a pointer: write op.yaml by hand",
				p.Line, p.Column, a.Name, f.kernel.Name)
		}
		if !ok {
			kind, lanes, a.Comment = operator.F32, 1, "which type is "+p.Type+"?"
		}
		a.Type = string(kind)
		switch {
		case p.Pointer:
			f.tensor(&a, p, kind)
			if lanes > 1 {
				a.Size = fmt.Sprintf("%d*%s", lanes, a.Size)
			}
			writes = writes || a.Role != "input"
			bytes = append(bytes, fmt.Sprintf("%d*%s", kind.Bytes(), a.Size))
		case isInteger(kind):
			a.Value, next = f.o.Shape[next], next+1
		case kind == operator.Bool:
			a.Value, a.Comment = "1", "which value?"
		default:
			a.Value = f.unused("value_" + a.Name)
			f.o.Parameters = append(f.o.Parameters, a.Value+": {type: float, default: 1.0}  # which value?")
		}
		f.o.Arguments = append(f.o.Arguments, a)
	}
	if !writes {
		return fmt.Errorf("%s writes to none of its parameters, as far as its text tells: write op.yaml by hand", f.kernel.Name)
	}
	f.o.Bytes = strings.Join(bytes, " + ")
	return nil
}

// tensor fills in a tensor's role and size from the way in which the kernel uses it.
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
	switch elements, more := extent(use.Indices); {
	case elements > 0:
		a.Size = strconv.FormatInt(elements, 10)
	case len(use.Indices) > 0 && len(slices.Compact(use.Indices)) == 1 && use.Indices[0] == "blockIdx.x":
		a.Size, a.Comment = f.blocks(), "one for each block of the default"
	case more > 0 && a.Role == "input":
		a.Size = fmt.Sprintf("%s + %d", f.size, more)
	}
	if a.Role == "input" && isInteger(kind) && a.Comment == "" {
		a.Comment = "of indices, fill says what they may be, as in: integers(0, size - 1)"
	}
}

// extent returns the number of elements of an array if all its indices in the kernel are constants, otherwise 0. The
// result `more` is how many elements the array needs beyond the problem's size, because the kernel adds constants to
// the indices.
func extent(indices []string) (elements, more int64) {
	numbers := true
	for _, index := range indices {
		n, err := strconv.ParseInt(index, 10, 32)
		elements, numbers = max(elements, n+1), numbers && err == nil
		if at := strings.LastIndexByte(index, '+'); at > 0 {
			n, _ := strconv.ParseInt(index[at+1:], 10, 32)
			more = max(more, n)
		}
	}
	if !numbers {
		elements = 0
	}
	return elements, more
}

// blocks returns an expression for the number of blocks, computed with the default values of the tunables.
func (f *fromKernel) blocks() string {
	return wordForm.ReplaceAllStringFunc(f.o.Grid[0], func(word string) string {
		if i := slices.IndexFunc(f.o.Tunables, func(t space.Tunable) bool { return t.Name == word }); i >= 0 {
			return f.o.Tunables[i].Values[0].Source()
		}
		return word
	})
}
