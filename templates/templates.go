// Package templates embeds the built-in operators. Each operator is a folder with op.yaml, the kernels and the PyTorch
// code; all kernels share the folder include. Package operator reads the folders of operators.
package templates

import "embed"

// FS is the tree of the built-in operators. A user writes an operator as a folder of the same form as each folder in
// FS.
//
//go:embed */*.yaml */*.cu */*.cuh */*.py
var FS embed.FS
