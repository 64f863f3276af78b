package pytorch

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"text/template"

	"autotune/reports/cudasource"
	"autotune/tuner/operator"
)

// The file is put together from these: module.py.tmpl is the Python around all
// else, cuda.cu.tmpl the CUDA source with the other files in it.
//
//go:embed *.tmpl
var files embed.FS

// Write writes the winner as a PyTorch module.
func Write(out io.Writer, w cudasource.Winner) error {
	e, err := elementOf(w.Problem)
	if err != nil {
		return fmt.Errorf("%s cannot be a PyTorch module: %w (--format cu has no such limits)", w.Problem.Operator.Name, err)
	}
	if why := unserved(w.Problem.Operator.Arguments, e); why != "" {
		return fmt.Errorf("%s cannot be a PyTorch module: %s; a module takes %s and gives one (--format cu has no such limits)", w.Problem.Operator.Name, why, e.taken())
	}
	if why := unlaunched(w, e); why != "" {
		return fmt.Errorf("%s cannot be a PyTorch module: %s (--format cu has no such limits)", w.Problem.Operator.Name, why)
	}
	if w.Problem.Operator.PyTorch == nil {
		return fmt.Errorf("%s cannot be a PyTorch module: its op.yaml has no key `pytorch`", w.Problem.Operator.Name)
	}
	v, err := newView(w)
	if err != nil {
		return err
	}
	if v.CUDA, err = fill("cuda.cu.tmpl", v); err != nil {
		return err
	}
	if strings.Contains(v.CUDA, `"""`) {
		return fmt.Errorf("%s holds three quotes in a row, which end a string in Python", w.Kernel.File)
	}
	digest := sha256.Sum256([]byte(v.CUDA))
	v.Extension = "autotune_" + w.Problem.Operator.Name + "_" + hex.EncodeToString(digest[:6])
	text, err := fill("module.py.tmpl", v)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, text)
	return err
}

// unlaunched says what a module cannot do of what the kernel needs; "" if it can do all.
func unlaunched(w cudasource.Winner, e element) string {
	for _, l := range w.Kernel.Launches {
		if l.Clustered() || l.Cooperative {
			return "its launch has clusters or is cooperative; a module makes plain ones"
		}
	}
	if len(w.Kernel.Flags) > 0 {
		return "its kernel is compiled with " + strings.Join(w.Kernel.Flags, " ") + "; a module sets no flags"
	}
	for _, spec := range w.Problem.Operator.Parameters {
		if spec.Type == operator.WordParameter && spec.Name != e.Parameter {
			return fmt.Sprintf("`%s` is a parameter of words; a module's are numbers", spec.Name)
		}
	}
	return ""
}

// unserved says which argument a module cannot have; "" if it can have all.
func unserved(arguments []operator.ArgumentSpec, e element) string {
	output := ""
	for _, a := range arguments {
		switch {
		case a.Owner != nil && a.TypeBy == nil && a.Type == operator.F32:
		case a.Role == operator.InOut || a.Role == operator.Workspace || a.Role == operator.Scalar:
			return fmt.Sprintf("`%s` is of role %s", a.Name, a.Role)
		case a.Symbol != "":
			return fmt.Sprintf("`%s` lies in constant memory", a.Name)
		case !e.has(a):
			return fmt.Sprintf("`%s` is of type %s", a.Name, a.TypeText())
		case a.Role == operator.Output && output != "":
			return fmt.Sprintf("`%s` and `%s` are both outputs", output, a.Name)
		case a.Role == operator.Output:
			output = a.Name
		}
	}
	return ""
}

// functions are what the templates may call.
var functions = template.FuncMap{
	"dim3":     cudasource.Dim3,
	"join":     func(list []string) string { return strings.Join(list, ", ") },
	"numbers":  func(sizes []string) string { return numbered("sizes[%d]", sizes) },
	"pointers": func(read []operator.ArgumentSpec) string { return numbered("read[%d]", read) },
	"quoted":   quoted,
	"tuple":    tuple,
}

// numbered formats the indexes of a list, joined by commas.
func numbered[T any](format string, list []T) string {
	words := make([]string, len(list))
	for i := range list {
		words[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(words, ", ")
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
