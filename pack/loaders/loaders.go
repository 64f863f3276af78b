// Package loaders holds what a pack brings along for programs in Python and C, as data.
package loaders

import "embed"

//go:embed c all:python
var files embed.FS

// File is one of the files, as c/autotune_pack.h.
func File(name string) []byte {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded
	}
	return text
}
