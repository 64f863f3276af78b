// Package examples holds operators to start from, as data: for tests, which run where
// this folder is not.
package examples

import "embed"

// FS is this folder: operators in one file, what they include, and operators that are
// folders.
//
//go:embed *.cu *.cuh */op.yaml */*.cu */*.py
var FS embed.FS
