// Package sharedlib calls functions of shared libraries that are opened at run time.
package sharedlib

import "github.com/ebitengine/purego"

// Bind points each function variable at the library's symbol of the same name, or returns an error that names the
// missing symbol.
func Bind(library uintptr, functions map[string]any) error {
	for name, function := range functions {
		symbol, err := purego.Dlsym(library, name)
		if err != nil {
			return err
		}
		purego.RegisterFunc(function, symbol)
	}
	return nil
}
