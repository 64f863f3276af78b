// Package loaders holds what a pack brings along for programs in Python and C, as data.
package loaders

import "embed"

// FS has the files.
//
//go:embed c all:python
var FS embed.FS
