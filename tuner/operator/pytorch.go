package operator

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
)

// PyTorch is what an operator says of itself as a PyTorch module, for exports:
// the class that replaces PyTorch's own, and a kernel for every other problem
// than the tuned one.
type PyTorch struct {
	Module  Source // Python: class ModelNew, gradients, get_inputs, get_init_inputs
	General Source // CUDA: one output element of a problem whose sizes are known at run time
}

// GeneralFunction is the name of the function that General defines.
func (o *Operator) GeneralFunction() string { return o.Name + "_general" }

// pytorch reads the key of that name.
func (d decoder) pytorch(n *node) (*PyTorch, error) {
	p := &PyTorch{}
	err := d.fields(n, "pytorch", []string{"module", "general"}, map[string]func(*node) error{
		"module":  d.into(&p.Module.File, d.fileName),
		"general": d.into(&p.General.File, d.fileName),
	})
	return p, err
}

// moduleParts is what a module's text must define.
var moduleParts = []string{"class ModelNew", "def gradients", "def get_inputs", "def get_init_inputs"}

// pytorch reads the files that the operator's module is made of.
func (r sourceReader) pytorch() error {
	p, at := r.o.PyTorch, r.root.get("pytorch")
	if p == nil {
		return nil
	}
	if err := r.text(&p.Module, at.get("module"), "*.py"); err != nil {
		return err
	}
	for _, part := range moduleParts {
		if !regexp.MustCompile(`(?m)^` + part + `\b`).MatchString(p.Module.Text) {
			n := at.get("module")
			return &Error{File: r.o.File, Line: n.line, Column: n.column, Message: fmt.Sprintf("`%s` lacks `%s`", p.Module.File, part),
				Hint: "docs/pytorch-export.md lists what a module defines"}
		}
	}
	if err := r.text(&p.General, at.get("general"), "*.cu*"); err != nil {
		return err
	}
	if !regexp.MustCompile(`\bfloat\s+` + regexp.QuoteMeta(r.o.GeneralFunction()) + `\s*\(`).MatchString(p.General.Text) {
		n := at.get("general")
		return &Error{File: r.o.File, Line: n.line, Column: n.column, Message: fmt.Sprintf("`%s` does not define `%s`", p.General.File, r.o.GeneralFunction()),
			Hint: "it is a __device__ float function of the tensors read, the sizes and the output element's index"}
	}
	p.General.Includes = map[string]string{}
	return r.includes(path.Join(r.dir, p.General.File), p.General.Text, p.General.Includes)
}

// text reads a file of the operator's folder; pattern is what its like are called.
func (r sourceReader) text(s *Source, at *node, pattern string) error {
	text, err := fs.ReadFile(r.fsys, path.Join(r.dir, s.File))
	if err != nil {
		e := &Error{File: r.o.File, Line: at.line, Column: at.column, Message: fmt.Sprintf("there is no source file `%s`", path.Join(r.dir, s.File))}
		files, _ := fs.Glob(r.fsys, path.Join(r.dir, pattern)) // a bad pattern only costs the hint
		for i := range files {
			files[i] = path.Base(files[i])
		}
		e.Hint = nearestOrAll(s.File, "the folder has", files)
		return e
	}
	s.Text = string(text)
	return nil
}
