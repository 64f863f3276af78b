// Package testcache is where tests keep what they compile: the packages of one run for
// each other, and a run for the next one. What lies there goes by all that it was made
// of, its compiler included, so that a test proves the same with it and without.
package testcache

import (
	"os"
	"path/filepath"
)

// Dir is the folder. It is outside of the module, for `go test` takes what a test reads
// in there for its input, and would run it again whenever a compilation is added.
func Dir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "autotune-tests")
}
