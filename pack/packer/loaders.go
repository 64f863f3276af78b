package packer

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/internal/quote"
	"autotune/operator"
	"autotune/pack"
	"autotune/pack/loaders"
)

// fileOf returns the size and digest that a manifest records for a file.
func fileOf(data []byte) pack.File {
	return pack.File{Bytes: int64(len(data)), SHA256: fmt.Sprintf("%x", sha256.Sum256(data))}
}

// addLoaders adds the loaders for programs in Python and C, and the tables of the pack that they read.
func (p *Packed) addLoaders(operators map[string]*operator.Operator, contents func(file string) []byte) (err error) {
	folder := pythonFolder + p.Name + "/"
	for _, name := range []string{
		"__init__.py", "arguments.py", "calls.py", "folds.py", "manifest.py", "measure.py", "modules.py", "pack.py", "ready.py",
	} {
		p.files[folder+name] = loaders.File("python/" + name)
	}
	p.addFormulas(folder)
	functions := pyFunctions{Functions: map[string]pyFunction{}, calls: torchFunctions{}}
	for _, name := range slices.Sorted(maps.Keys(operators)) {
		functions.add(p, folder, operators[name])
	}
	p.files[folder+"functions.py"] = write("functions.py.tmpl", functions)
	p.files[folder+functionsFile], err = json.Marshal(functions.calls)

	p.files["c/autotune_pack.h"], p.files["c/autotune_pack.c"] = loaders.File("c/autotune_pack.h"), loaders.File("c/autotune_pack.c")
	p.files["c/CMakeLists.txt"] = bytes.ReplaceAll(loaders.File("c/CMakeLists.txt"), []byte("PACK"), []byte(p.Name))
	header, tables, notices := cFiles(&p.Manifest, contents)
	p.files["c/"+p.Name+".h"], p.files["c/"+p.Name+".c"] = header, tables
	p.Notices = append(p.Notices, notices...)
	return err
}

// pythonFolder contains the Python package, in a folder with the pack's name.
const pythonFolder = "python/"

// Foreign finds loader code that differs from the code which this program writes for the pack's manifest. Loader code
// that was changed together with its digest in the manifest passes the verification of a pack. The result unknown lists
// the files that cannot be compared because their operators are missing.
func Foreign(p *pack.Pack, operators map[string]*operator.Operator) (foreign, unknown []string, err error) {
	w := &Packed{Manifest: p.Manifest, files: map[string][]byte{}}
	if err := w.addLoaders(operators, p.Kernel); err != nil {
		return nil, nil, err
	}
	folder := pythonFolder + p.Name + "/"
	whole := !slices.ContainsFunc(p.Operators, func(o *pack.Operator) bool { return operators[o.Name] == nil })
	untold := map[string]bool{}
	for _, o := range p.Operators {
		untold[folder+o.Name+"_gradients.py"] = operators[o.Name] == nil
	}
	untold[folder+"functions.py"], untold[folder+functionsFile] = !whole, !whole
	for name, data := range w.files {
		if p.Files[name] != fileOf(data) && !untold[name] {
			foreign = append(foreign, name)
		}
	}
	for name := range p.Files {
		isData := !strings.HasPrefix(name, "c/") && !strings.HasPrefix(name, pythonFolder)
		_, known := w.files[name]
		switch {
		case untold[name]:
			unknown = append(unknown, name)
		case !known && !isData:
			foreign = append(foreign, name)
		}
	}
	slices.Sort(foreign)
	slices.Sort(unknown)
	return foreign, unknown, nil
}

// pyFunctions is the content of functions.py: the PyTorch functions that the pack's operators compute.
type pyFunctions struct {
	Operators []pyOperator
	Functions map[string]pyFunction
	calls     torchFunctions
}

// pyOperator is an operator whose functions are in functions.py.
type pyOperator struct {
	p           *Packed
	Name        string
	Gradients   string // Python code of the gradients, if there is any
	Expressions []operator.ParameterSpec
}

// Words returns the values of a word parameter for which the pack has kernels.
func (o pyOperator) Words(parameter string) []string { return o.p.words(o.Name, parameter) }

// Of returns the names that an expression may use: the names in its parameter's `of`, and the tensors of all packed
// epilogues.
func (o pyOperator) Of(s operator.ParameterSpec) []string {
	return slices.Concat(s.Of, o.p.operands(o.Name, s))
}

// pyFunction holds the parts of a Python function: parameters, docstring, and the tensors and values it passes on.
type pyFunction struct{ Parameters, Summary, Tensors, Values string }

func (f *pyFunctions) add(p *Packed, folder string, o *operator.Operator) {
	of := pyOperator{p: p, Name: o.Name}
	for _, s := range o.Parameters {
		if s.Type == operator.ExpressionParameter {
			of.Expressions = append(of.Expressions, s)
		}
	}
	if o.PyTorch != nil && o.PyTorch.Gradients.Text != "" && differentiable(o) {
		of.Gradients = o.PyTorch.Gradients.Text
		p.files[folder+o.Name+"_gradients.py"] = write("gradients.py.tmpl", of)
	}
	calls := pythonCalls(o)
	for _, s := range of.Expressions {
		if len(p.operands(o.Name, s)) > 0 {
			calls = append(calls, p.epilogueCall(o, s))
		}
	}
	described, _ := p.parameter(o.Name, "")
	filled := func(t pack.TensorSpec) bool { return operator.Role(t.Role).Filled() }
	read := lists.Of(lists.Where(described.Tensors, filled), func(t pack.TensorSpec) string { return t.Name })
	for _, call := range calls {
		if !p.means(o, call) {
			continue
		}
		if _, defined := f.Functions[call.Function]; !defined || call.Function == o.Name {
			f.Functions[call.Function] = definition(o, read, call)
		}
		f.calls.add(o, call)
	}
	f.Operators = append(f.Operators, of)
}

// means reports whether the pack has kernels for the expressions that correspond to a PyTorch function.
func (p *Packed) means(o *operator.Operator, call operator.TorchCall) bool {
	for _, spec := range o.Parameters {
		words, meant := p.words(o.Name, spec.Name), call.Meant(spec.Name)
		known := func(word string) bool { return slices.Contains(words, word) }
		if words != nil && meant != nil && !slices.ContainsFunc(meant, known) {
			return false
		}
	}
	return true
}

// differentiable reports whether an operator can have gradients: it needs exactly one output, not of integers.
func differentiable(o *operator.Operator) bool {
	outputs := slices.DeleteFunc(slices.Clone(o.Arguments), func(a operator.ArgumentSpec) bool { return a.Role != operator.Output })
	return len(outputs) == 1 && outputs[0].Type != operator.I64
}

// definition returns the Python function for a PyTorch call. read lists the inputs in the order of the kernels.
func definition(o *operator.Operator, read []string, call operator.TorchCall) pyFunction {
	var parts, tensors []string
	values, given := "", map[string]string{}
	for _, a := range call.Arguments {
		part := a.Name
		if a.Optional() {
			part += "=" + cmp.Or(a.Default, operator.None).Python()
		}
		parts = append(parts, part)
		if slices.Contains(read, a.Is) {
			given[a.Is] = a.Name
		} else {
			values += a.Name + ", "
		}
	}
	for _, t := range read { // PyTorch's order of arguments may differ
		if name, ok := given[t]; ok {
			tensors = append(tensors, name)
		}
	}
	return pyFunction{strings.Join(parts, ", "), quote.PythonDoc(o.Summary), strings.Join(tensors, ", "), values}
}

// pythonCalls returns the PyTorch functions that an operator computes. For an operator whose op.yaml names no PyTorch
// function, pythonCalls returns a function with the operator's name, tensors and parameters.
func pythonCalls(o *operator.Operator) []operator.TorchCall {
	if o.PyTorch != nil && len(o.PyTorch.Calls) > 0 {
		return o.PyTorch.Calls
	}
	c := operator.TorchCall{Function: o.Name}
	add := func(name string, optional bool) {
		a := operator.TorchArgument{Name: name, Is: name}
		if optional {
			a.Default = operator.None
		}
		c.Arguments = append(c.Arguments, a)
	}
	tensors := map[string]bool{}
	for _, t := range o.Arguments {
		if t.Role.Filled() {
			add(t.Name, slices.ContainsFunc(o.Parameters, func(s operator.ParameterSpec) bool { return s.Name == t.Name }))
			tensors[t.Name] = true
		}
	}
	for _, s := range o.Parameters {
		if !tensors[s.Name] && s.Type != operator.WordParameter {
			add(s.Name, true)
		}
	}
	return []operator.TorchCall{c}
}
