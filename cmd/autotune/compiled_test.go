package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"autotune/device/compile"
	"autotune/device/emulator"
	"autotune/internal/test/must"
	"autotune/internal/test/testcache"
	"autotune/operator"
)

// compiledTogether returns a function that gives each test a cache folder of its own for trials, in which links lead to
// a shared folder of compiled kernels. The tests search the same small problems, so they share compiled kernels.
func compiledTogether(t *testing.T) (linkTo func(xdg string) error) {
	t.Helper()
	shared := testcache.Dir()
	for i := range 256 { // the cache's folders, one for each first byte of a digest
		must.OK(t, os.MkdirAll(filepath.Join(shared, fmt.Sprintf("%02x", i)), 0o755))
	}
	for _, sanitize := range []bool{false, true} { // the emulator compiles a library once for all variants
		d, err := emulator.Open(emulator.Options{Sanitize: sanitize, CacheDir: shared})
		if errors.Is(err, emulator.ErrNoCompiler) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		k := operator.Kernel{File: "k.cu", Source: `extern "C" __global__ void k(float*) {}`, Launches: operator.Launches{{Entry: "k"}}}
		_, err = d.Compiler().Compile(t.Context(), compile.Request{Kernel: k, Arch: "host"})
		must.OK(t, errors.Join(err, d.Close()))
	}
	return func(xdg string) error {
		own := filepath.Join(xdg, "autotune")
		err := os.MkdirAll(own, 0o755)
		for i := 0; i < 256 && err == nil; i++ {
			folder := fmt.Sprintf("%02x", i)
			err = os.Symlink(filepath.Join(shared, folder), filepath.Join(own, folder))
		}
		return err
	}
}
