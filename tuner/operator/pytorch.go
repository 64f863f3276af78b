package operator

import (
	"path"
	"regexp"

	"autotune/tuner/operator/tree"
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
func (l *loader) pytorch(n *tree.Node) PyTorch {
	f := fields(n, "pytorch")
	module := l.file(f["module"], "*.py")
	for _, part := range moduleParts {
		module.mustDefine(f["module"], part, `(?m)^`+part+`\b`, "docs/pytorch-export.md lists what a module defines")
	}
	general, function := l.file(f["general"], "*.cu*"), l.kernelName(f["general"], l.o.Name+"_general")
	general.mustDefine(f["general"], function, `\b(float|Element)\s+`+regexp.QuoteMeta(function)+`\s*\(`,
		"it is a __device__ function, of float or of element.cuh's Element, of the tensors read, the sizes and the output element's index")
	return PyTorch{Module: module, General: withIncludes(general, path.Join(l.dir, general.File), l.include), Function: function}
}
