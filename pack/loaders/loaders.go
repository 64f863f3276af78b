// Package loaders holds the source files that each pack includes for programs in Python and C.
package loaders

import "embed"

//go:embed c all:python
var files embed.FS

// File returns the contents of one of the loaders' source files, such as c/autotune_pack.h.
func File(name string) []byte {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err) // embedded files always exist
	}
	return text
}
