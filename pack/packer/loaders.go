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

	"autotune/internal/quote"
	"autotune/operator"
	"autotune/pack"
	"autotune/pack/loaders"
)

// addLoaders adds the loaders for programs in Python and C.
func (p *Packed) addLoaders(operators map[string]*operator.Operator) error {
	if err := p.addPython(operators); err != nil {
		return err
	}
	return p.addC(func(file string) []byte { return p.files[file] })
}

// fileOf is what a manifest says of a file.
func fileOf(data []byte) pack.File {
	return pack.File{Bytes: int64(len(data)), SHA256: fmt.Sprintf("%x", sha256.Sum256(data))}
}

// addC adds the loader for C, with tables of the pack's files.
func (p *Packed) addC(contents func(file string) []byte) error {
	for _, name := range []string{"autotune_pack.h", "autotune_pack.c", "CMakeLists.txt"} {
		text, err := loaders.FS.ReadFile("c/" + name)
		if err != nil {
			return err
		}
		p.files["c/"+name] = text
	}
	p.files["c/CMakeLists.txt"] = bytes.ReplaceAll(p.files["c/CMakeLists.txt"], []byte("PACK"), []byte(p.Name))
	header, tables, notices := cFiles(&p.Manifest, contents)
	p.files["c/"+p.Name+".h"], p.files["c/"+p.Name+".c"] = header, tables
	p.Notices = append(p.Notices, notices...)
	return nil
}

// pythonFolder has the Python package, in a folder of its name.
const pythonFolder = "python/"

// gradientsHead stands before an operator's gradients: what docs/pytorch-export.md tells of.
const gradientsHead = `"""Gradients of %[1]s."""
import torch

from .pack import OPERATORS, Operator

OPERATOR = Operator(OPERATORS["%[1]s"])
PARAMETERS = OPERATOR.parameters
RANKS = [len(t["shape"]) for t in OPERATOR.read]


def each(settings, name):
    """The components of a parameter, as a list."""
    return [settings[component] for component in PARAMETERS[name]]


`

func (p *Packed) addPython(operators map[string]*operator.Operator) error {
	folder := pythonFolder + p.Name + "/"
	for _, name := range []string{"__init__.py", "arguments.py", "calls.py", "folds.py", "manifest.py", "measure.py", "modules.py", "pack.py", "ready.py"} {
		text, err := loaders.FS.ReadFile("python/" + name)
		if err != nil {
			return err
		}
		p.files[folder+name] = text
	}
	p.addFormulas(folder)
	functions := pythonFunctions{p: p, folder: folder, calls: torchFunctions{}}
	for _, name := range slices.Sorted(maps.Keys(operators)) {
		functions.add(operators[name])
	}
	p.files[folder+"functions.py"] = []byte(functions.text())
	var err error
	p.files[folder+functionsFile], err = json.Marshal(functions.calls)
	return err
}

// Foreign lists the code of a pack's loaders that this program does not write for the pack's manifest: Python and C
// run it, whatever the manifest says. unknown is the code that cannot be told, for a lack of operators.
func Foreign(p *pack.Pack, operators map[string]*operator.Operator) (foreign, unknown []string, err error) {
	w := &Packed{Manifest: p.Manifest, files: map[string][]byte{}}
	if err := cmp.Or(w.addPython(operators), w.addC(p.Kernel)); err != nil {
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

// pythonFunctions writes functions.py: PyTorch's functions that operators of the pack compute.
type pythonFunctions struct {
	p       *Packed
	folder  string
	imports []string
	kernels []string
	calls   torchFunctions
	own     []string // the functions' definitions
	defined []string
}

func (f *pythonFunctions) add(o *operator.Operator) {
	gradients := "None"
	if o.PyTorch != nil && o.PyTorch.Gradients.Text != "" && differentiable(o) {
		gradients = o.Name + "_gradients.gradients"
		f.imports = append(f.imports, o.Name+"_gradients")
		f.p.files[f.folder+o.Name+"_gradients.py"] = fmt.Appendf(nil, gradientsHead+"%[2]s%[3]s", o.Name, f.expressions(o), o.PyTorch.Gradients.Text)
	}
	calls, more := pythonCalls(o), ""
	if slices.ContainsFunc(calls, inPlace) {
		more = ", in_place=True"
	}
	f.kernels = append(f.kernels, fmt.Sprintf("_%s = Kernels(%s, %s%s)\n", o.Name, quote.Python(o.Name), gradients, more))
	for _, call := range calls {
		if !f.means(o, call) {
			continue
		}
		if _, ok := f.calls[call.Function]; !ok || call.Function == o.Name {
			f.define(o, call)
		}
		f.calls.add(o, call)
	}
}

// inPlace tells whether a function may write its output over its first tensor.
func inPlace(call operator.TorchCall) bool {
	return slices.ContainsFunc(call.Arguments, func(a operator.TorchArgument) bool { return a.Name == "inplace" })
}

// expressions are the functions that a parameter may be, in Python, for gradients.
func (f *pythonFunctions) expressions(o *operator.Operator) string {
	var b strings.Builder
	for _, s := range o.Parameters {
		if s.Type != operator.ExpressionParameter {
			continue
		}
		of := strings.Join(s.Of, ", ")
		fmt.Fprintf(&b, "EXPRESSIONS = {\n")
		for _, word := range f.p.words(o.Name, s.Name) {
			fmt.Fprintf(&b, "    %s: lambda of, %s: %s,\n", quote.Python(word), of, s.Python(word, "of"))
		}
		fmt.Fprintf(&b, "}\n\n\ndef %s(settings, of, %s):\n    \"\"\"What the kernels compute of an element, by the functions of an object.\"\"\"\n"+
			"    return EXPRESSIONS[settings[%[3]s]](of, %[2]s)\n\n\n", s.Name, of, quote.Python(s.Name))
	}
	return b.String()
}

// means tells whether the pack has kernels for what a function means: an expression is one of its words.
func (f *pythonFunctions) means(o *operator.Operator, call operator.TorchCall) bool {
	for _, spec := range o.Parameters {
		words, meant := f.p.words(o.Name, spec.Name), call.Meant(spec.Name)
		known := func(word string) bool { return slices.Contains(words, word) }
		if words != nil && meant != nil && !slices.ContainsFunc(meant, known) {
			return false
		}
	}
	return true
}

// differentiable tells whether an operator can have gradients: it has one output, and not of integers.
func differentiable(o *operator.Operator) bool {
	outputs := slices.DeleteFunc(slices.Clone(o.Arguments), func(a operator.ArgumentSpec) bool { return a.Role != operator.Output })
	return len(outputs) == 1 && outputs[0].Type != operator.I64
}

// define writes a function's definition. The function calls the last of its CALLS, which is the operator of its own name.
func (f *pythonFunctions) define(o *operator.Operator, call operator.TorchCall) {
	var parts, tensors, values []string
	given := map[string]string{}
	for _, a := range call.Arguments {
		part := a.Name
		if a.Optional() {
			part += "=" + cmp.Or(a.Default, operator.None).Python()
		}
		parts = append(parts, part)
		if slices.ContainsFunc(o.Arguments, func(t operator.ArgumentSpec) bool { return t.Name == a.Is && t.Role.Filled() }) {
			given[a.Is] = a.Name
		} else {
			values = append(values, a.Name)
		}
	}
	for _, t := range o.Arguments { // whatever PyTorch's order
		if name, ok := given[t.Name]; ok {
			tensors = append(tensors, name)
		}
	}
	const form = "\n\ndef %s(%s, *, mode=\"\"):\n    %s\n    return CALLS[%[6]s][-1]((%[4]s,), (%[5]s), mode)\n"
	if len(values) > 0 {
		values[len(values)-1] += ","
	}
	f.own = append(f.own, fmt.Sprintf(form, call.Function, strings.Join(parts, ", "), quote.PythonDoc(o.Summary),
		strings.Join(tensors, ", "), strings.Join(values, ", "), quote.Python(call.Function)))
	if !slices.Contains(f.defined, call.Function) {
		f.defined = append(f.defined, call.Function)
	}
}

// pythonCalls are the functions that an operator computes. One that names none of PyTorch's
// is a function of its tensors and parameters.
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

func (f *pythonFunctions) text() string {
	var b strings.Builder
	b.WriteString("\"\"\"PyTorch's functions that operators of the pack compute, with PyTorch's arguments.\"\"\"\n")
	if len(f.imports) > 0 {
		fmt.Fprintf(&b, "from . import %s\n", strings.Join(f.imports, ", "))
	}
	fmt.Fprintf(&b, "from .calls import Kernels, calls\n\n__all__ = %s\n\n%s\nCALLS = calls(globals())\n",
		quote.PythonList(f.defined), strings.Join(f.kernels, ""))
	b.WriteString(strings.Join(f.own, ""))
	return b.String()
}
