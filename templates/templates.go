// Package templates holds the built-in operators as data: a folder each, with
// op.yaml, the kernels and the PyTorch side, and the folder include, which all
// kernels share. Package operator reads them.
package templates

import "embed"

// FS is the tree of the built-in operators. A user's own operator is a folder of
// the same form.
//
//go:embed */*.yaml */*.cu */*.cuh */*.py
var FS embed.FS
