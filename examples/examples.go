// Package examples embeds the example operators, so that tests can load them without access to this folder.
package examples

import "embed"

// FS is this folder: operators in single files with the headers that they include, and operators that are folders.
//
//go:embed *.cu *.cuh */op.yaml */*.cu */*.py
var FS embed.FS
