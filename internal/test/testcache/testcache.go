// Package testcache provides the folder in which tests cache compiled kernels, so that the packages of one run share
// them and the next run uses them again. The key of a cached kernel covers all inputs of its compilation, including the
// compiler, so that the cache never changes the result of a test.
package testcache

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// makers are the packages that compile kernels. The keys in the tests' cache do not cover the code of the packages in
// makers, so each version of this code gets a cache folder of its own.
var makers = []string{"internal/cudafile", "device/compile", "device/emulator"}

// Dir returns the tests' cache folder, within the user's cache folder. If the tests' cache folder were within the
// module, `go test` would count its files as inputs of the tests and run all tests again after each compilation.
var Dir = sync.OnceValue(func() string {
	caches, err := os.UserCacheDir()
	if err != nil {
		caches = os.TempDir()
	}
	root := moduleRoot()
	checkout := filepath.Join(caches, "autotune-tests", digest([]byte(root)))
	dir := filepath.Join(checkout, digest(sources(root)))
	if _, err := os.Stat(dir); err != nil {
		_ = os.RemoveAll(checkout) // remove the caches of other sources; without space, tests compile all kernels again
		_ = os.MkdirAll(dir, 0o755)
	}
	return dir
})

// moduleRoot returns the folder with go.mod above the test's working directory, or "" if tests run without sources.
func moduleRoot() string {
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

func sources(root string) []byte {
	var all []byte
	for _, maker := range makers {
		files, _ := filepath.Glob(filepath.Join(root, maker, "*.go"))
		for _, path := range files {
			if text, err := os.ReadFile(path); err == nil && !strings.HasSuffix(path, "_test.go") {
				all = append(all, text...)
			}
		}
	}
	return all
}

func digest(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text))[:16] }
