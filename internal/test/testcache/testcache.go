// Package testcache is where tests keep what they compile: the packages of one run for
// each other, and a run for the next one. What lies there goes by all that it was made
// of, its compiler included, so that a test proves the same with it and without.
package testcache

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// makers are the packages that stand between a kernel and its binary. A binary's key
// does not cover them, so that a change of theirs starts with an empty folder.
var makers = []string{"internal/cudafile", "device/compile", "device/emulator"}

// Dir is the folder, in the user's cache folder. Within the module `go test` would take
// it for the tests' input, and run them again whenever a compilation is added.
var Dir = sync.OnceValue(func() string {
	caches, err := os.UserCacheDir()
	if err != nil {
		caches = os.TempDir()
	}
	root := moduleRoot()
	checkout := filepath.Join(caches, "autotune-tests", digest([]byte(root)))
	dir := filepath.Join(checkout, digest(sources(root)))
	if _, err := os.Stat(dir); err != nil {
		_ = os.RemoveAll(checkout) // what other sources made; without room all is compiled again
		_ = os.MkdirAll(dir, 0o755)
	}
	return dir
})

// moduleRoot is the folder with go.mod around this one, in which a test runs; "" where
// tests run without their sources.
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
