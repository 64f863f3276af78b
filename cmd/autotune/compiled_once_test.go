package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"autotune/device/compile"
	"autotune/device/emulator"
	"autotune/internal/test/testcache"
	"autotune/operator"
)

// compiledOnce makes a user's cache folder with all that the emulator compiles once for
// all variants. It is as that of a user who has run the emulator before. Where each test
// has a cache of its own, these compilations take longer than all else.
func compiledOnce(t *testing.T) (copyTo func(xdg string) error) {
	t.Helper()
	made := onceFolder(t)
	return func(xdg string) error { return os.CopyFS(filepath.Join(xdg, "autotune"), os.DirFS(made)) }
}

// onceFolder is a folder that holds nothing else.
func onceFolder(t *testing.T) string {
	t.Helper()
	c, err := emulator.NewCompiler(emulator.Options{})
	if errors.Is(err, emulator.ErrNoCompiler) {
		return t.TempDir()
	} else if err != nil {
		t.Fatal(err)
	}
	c.Close()
	made := filepath.Join(testcache.Dir(), "once-"+c.(compile.Fingerprinter).Fingerprint())
	compileOnceIn(t, made)
	return made
}

// compileOnceIn has a cache folder hold what the emulator compiles once for all variants.
func compileOnceIn(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, sanitize := range []bool{false, true} {
		c, err := emulator.NewCompiler(emulator.Options{Sanitize: sanitize, CacheDir: dir})
		if errors.Is(err, emulator.ErrNoCompiler) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		k := operator.Kernel{File: "k.cu", Source: `extern "C" __global__ void k(float*) {}`, Launches: operator.Launches{{Entry: "k"}}}
		_, err = c.Compile(t.Context(), compile.Request{Kernel: k, Arch: "host"})
		if err := errors.Join(err, c.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// compiledTogether makes a user's cache folder whose compiled kernels are those of the
// tests, of all of them and of the next run's: commands search the same small problems
// again and again. Its trials are its own.
func compiledTogether(t *testing.T) (linkTo func(xdg string) error) {
	t.Helper()
	shared, made := testcache.Dir(), onceFolder(t)
	for i := range 256 { // the folders that entries lie in
		folder := fmt.Sprintf("%02x", i)
		if err := os.Mkdir(filepath.Join(shared, folder), 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
		once, _ := os.ReadDir(filepath.Join(made, folder))
		for _, entry := range once {
			if err := os.Link(filepath.Join(made, folder, entry.Name()), filepath.Join(shared, folder, entry.Name())); err != nil && !errors.Is(err, os.ErrExist) {
				t.Fatal(err)
			}
		}
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
