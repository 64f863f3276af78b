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
