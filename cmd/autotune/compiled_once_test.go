package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"autotune/internal/testcache"
	"autotune/tuner/compile"
	"autotune/tuner/device/emulator"
	"autotune/tuner/operator"
)

// compiledOnce makes a user's cache folder that has what the emulator compiles once for
// all variants, as that of a user who has run it before. Where each test has a cache of
// its own, that takes longer than all else.
func compiledOnce(t *testing.T) (copyTo func(xdg string) error) {
	t.Helper()
	c, err := emulator.NewCompiler(emulator.Options{})
	if errors.Is(err, emulator.ErrNoCompiler) {
		return func(string) error { return nil }
	} else if err != nil {
		t.Fatal(err)
	}
	c.Close()
	made := filepath.Join(testcache.Dir(), "once-"+c.(compile.Fingerprinter).Fingerprint())
	if err := os.MkdirAll(made, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, sanitize := range []bool{false, true} {
		c, err := emulator.NewCompiler(emulator.Options{Sanitize: sanitize, CacheDir: made})
		if err != nil {
			t.Fatal(err)
		}
		k := operator.Kernel{File: "k.cu", Source: `extern "C" __global__ void k(float*) {}`, Launches: operator.Launches{{Entry: "k"}}}
		_, err = c.Compile(t.Context(), compile.Request{Kernel: k, Arch: "host"})
		if err := errors.Join(err, c.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return func(xdg string) error { return os.CopyFS(filepath.Join(xdg, "autotune"), os.DirFS(made)) }
}
