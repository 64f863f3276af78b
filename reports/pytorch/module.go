// Package pytorch writes the winner of a search as a PyTorch module: one Python file with a class ModelNew that
// replaces PyTorch's own module.
//
// The template module.py.tmpl is the same for all operators: it checks the inputs, compiles the kernels, launches them
// and records gradients. The expressions of op.yaml are valid Python, and the file's function plan computes a
// problem's sizes with them. The class ModelNew is copied from the operator's own module.py. The exported file has two
// kernels: the winner, for the problem that it was tuned for, and the operator's general kernel, for every other
// problem. docs/pytorch-export.md explains how to use exported files.
package pytorch

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"autotune/internal/lists"
	"autotune/internal/quote"
	"autotune/operator"
	"autotune/tuner/cudasource"
)

// An exported file is made from the template module.py.tmpl, its Python code, and from general_host.cu.tmpl and
// tuned_host.cu.tmpl, the CUDA files that the Python code compiles.
//
//go:embed *.tmpl
var files embed.FS

// Write writes the winner as a PyTorch module.
func Write(out io.Writer, w cudasource.Winner) error {
	if why := refused(w); why != "" {
		return fmt.Errorf("%s cannot be a PyTorch module: %s (--format cu has no such limits)", w.Problem.Operator.Name, why)
	}
	v, err := newView(w)
	if err != nil {
		return err
	}
	v.GeneralFile, err = fill("general_host.cu.tmpl", v)
	if err == nil {
		v.TunedFile, err = fill("tuned_host.cu.tmpl", v)
	}
	if err != nil {
		return err
	}
	if strings.Contains(v.GeneralFile+v.TunedFile, `"""`) {
		return fmt.Errorf("%s holds three quotes in a row, which end a string in Python", w.Kernel.File)
	}
	digest := sha256.Sum256([]byte(v.GeneralFile + v.TunedFile))
	v.Extension = "autotune_" + w.Problem.Operator.Name + "_" + hex.EncodeToString(digest[:6])
	text, err := fill("module.py.tmpl", v)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, text)
	return err
}

// refused returns why a winner cannot be exported as a module, or "" if it can.
func refused(w cudasource.Winner) string {
	o := w.Problem.Operator
	e, err := elementOf(w.Problem)
	if err != nil {
		return err.Error()
	}
	if why := unserved(o.Arguments[:len(o.Arguments)-len(o.Epilogue())], e); why != "" {
		return why + "; a module takes " + e.taken() + " and gives one"
	}
	if len(o.Epilogue()) > 0 && !strings.Contains(o.PyTorch.Module.Text, "*beside") {
		return "a module of it takes no tensors of an epilogue"
	}
	for _, spec := range o.Parameters {
		if spec.Type == operator.WordParameter && spec.Name != e.Parameter && !slices.Contains(o.Orders(), spec.Name) {
			return fmt.Sprintf("`%s` is a parameter of words; a module's are numbers", spec.Name)
		}
	}
	switch {
	case len(w.Kernel.Flags) > 0:
		return "its kernel is compiled with " + strings.Join(w.Kernel.Flags, " ") + "; a module sets no flags"
	case o.PyTorch == nil:
		return "its op.yaml has no key `pytorch`"
	case o.PyTorch.Module.Text == "" || o.PyTorch.Gradients.Text == "":
		return "the `files` of `pytorch` in its op.yaml lack a module or gradients"
	}
	return ""
}

// unserved names an argument that a module cannot have, and why. unserved returns "" if the module can have all
// arguments.
func unserved(arguments []operator.ArgumentSpec, e element) string {
	output := ""
	for _, a := range arguments {
		_, known := e.of(a)
		switch {
		case a.Owner != "" && a.TypeBy == "" && a.Type == operator.F32:
		case a.Role == operator.Workspace || a.Role == operator.Scalar:
			return fmt.Sprintf("`%s` is of role %s", a.Name, a.Role)
		case a.Symbol != "":
			return fmt.Sprintf("`%s` lies in constant memory", a.Name)
		case !known || a.Role == operator.Output && !e.has(a) && a.Type != operator.I64:
			return fmt.Sprintf("`%s` is of type %s", a.Name, a.TypeText())
		case a.Role == operator.Output && output != "":
			return fmt.Sprintf("`%s` and `%s` are both outputs", output, a.Name)
		case a.Role == operator.Output:
			output = a.Name
		}
	}
	return ""
}

// functions are the functions that the templates may call.
var functions = template.FuncMap{
	"comment":    quote.PythonComment,
	"identifier": cudasource.Identifier,
	"join":       func(list []string) string { return strings.Join(list, ", ") },
	"quoted":     func(names []string) []string { return lists.Of(names, quote.Python) },
	"sum":        func(a, b int) int { return a + b },
	"tuple":      tuple,
}

func fill(name string, v view) (string, error) {
	t, err := template.New(name).Delims("{%", "%}").Funcs(functions).ParseFS(files, "*.tmpl")
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, v); err != nil {
		return "", err
	}
	return b.String(), nil
}

// element is the common type of a module's tensors: f32, or the type that a parameter of the operator names.
type element struct {
	Type      operator.Type
	Torch     string // PyTorch's name for it
	Parameter string // the parameter that names the type, "" if none does
}

// torchTypes maps element types to PyTorch's names. A module computes in float32, bfloat16 or float16, and some of its
// tensors may have the type int64 or bool.
var torchTypes = map[operator.Type]string{
	operator.F32: "float32", operator.BF16: "bfloat16", operator.F16: "float16", operator.I64: "int64", operator.Bool: "bool",
}

// elementOf returns the type of a problem's tensors, or an error if a module cannot compute in that type.
func elementOf(p *operator.Problem) (element, error) {
	e := element{Type: operator.F32, Parameter: p.Operator.TypeParameter()}
	if e.Parameter != "" {
		e.Type = operator.Type(p.Values[e.Parameter].String())
	}
	if !slices.Contains([]operator.Type{operator.F32, operator.BF16, operator.F16}, e.Type) {
		return element{}, fmt.Errorf("`%s` is %s; a module's tensors are of f32, bf16 or f16", e.Parameter, e.Type)
	}
	e.Torch = torchTypes[e.Type]
	return e, nil
}

// has reports whether a tensor has the common element type of its module's tensors.
func (e element) has(a operator.ArgumentSpec) bool {
	return a.TypeBy == e.Parameter && (a.TypeBy != "" || a.Type == e.Type)
}

// of returns PyTorch's name for a tensor's type. ok is false if a module cannot have a tensor of that type.
func (e element) of(a operator.ArgumentSpec) (torch string, ok bool) {
	if e.has(a) {
		return e.Torch, true
	}
	return torchTypes[a.Type], a.TypeBy == "" && (a.Type == operator.I64 || a.Type == operator.Bool)
}

// taken describes in words the tensors that a module with the given element type takes.
func (e element) taken() string {
	if e.Parameter == "" {
		return "tensors of " + string(e.Type)
	}
	return fmt.Sprintf("tensors of the type that `%s` names", e.Parameter)
}

// python returns a line of Python that defines the parameter which names the type, if the formulas use that parameter.
func (e element) python(formulas string) []string {
	if e.Parameter == "" || !regexp.MustCompile(`\b`+e.Parameter+`\b`).MatchString(formulas) {
		return nil
	}
	return []string{e.Parameter + " = TYPE"}
}
