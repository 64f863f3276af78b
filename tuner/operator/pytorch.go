package operator

import (
	"regexp"

	"github.com/goccy/go-yaml/ast"
)

// PyTorch describes an operator as a PyTorch module, for exports: the class that
// replaces PyTorch's own, and a kernel for all problems but the tuned one.
type PyTorch struct {
	Module   Source // Python: class ModelNew, gradients, get_inputs, get_init_inputs
	General  Source // CUDA: one output element of a problem whose sizes are known at run time
	Function string // that General defines
}

// moduleParts are what a module's text must define.
var moduleParts = []string{"class ModelNew", "def gradients", "def get_inputs", "def get_init_inputs"}

// pytorch reads the key of that name and its files.
func (l *loader) pytorch(n ast.Node) *PyTorch {
	f := l.fields(n, "pytorch")
	module := l.moduleFile(f["module"])
	for _, part := range moduleParts {
		if !regexp.MustCompile(`(?m)^` + part + `\b`).MatchString(module.Text) {
			l.failHint(at(f["module"]), "docs/pytorch-export.md lists what a module defines", "`%s` lacks `%s`", module.File, part)
		}
	}
	general, function := l.file(f["general"], "*.cu*"), l.kernelName(f["general"], l.o.Name+"_general")
	l.mustDefine(f["general"], general, function, `\b(float|Element)\s+`+regexp.QuoteMeta(function)+`\s*\(`,
		"it is a __device__ function, of float or of element.cuh's Element, of the tensors read, the sizes and the output element's index")
	return &PyTorch{Module: module, General: l.withIncludes(general), Function: function}
}

// moduleFile reads a module, of the operator's folder or a shared one.
func (l *loader) moduleFile(n ast.Node) Source {
	if name, _, _ := scalar(n); fileForm.MatchString(name) {
		if text, _, err := l.include(name); err == nil {
			return Source{File: name, Text: text}
		}
	}
	return l.file(n, "*.py") // which says what is wrong
}
