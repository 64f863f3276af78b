package compile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A kernel may include the CUDA toolkit's headers where they are; where not, the
// message says what to do.
func TestToolkitHeaders(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "include"), 0o755); err != nil {
		t.Fatal(err)
	}
	// Not the real one: it shows that this folder is looked into.
	if err := os.WriteFile(filepath.Join(dir, "include", "cuda_fp16.h"), []byte("#define HALF 0.5f\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CUDA_HOME", dir)
	include := filepath.Join(dir, "include")
	if got := headerDirs(); !slices.Equal(got, []string{include}) {
		t.Fatalf("headerDirs() = %q", got)
	}
	if err := os.Mkdir(filepath.Join(include, "cccl"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := headerDirs(); !slices.Equal(got, []string{include, filepath.Join(include, "cccl")}) {
		t.Fatalf("with libcu++ in its own folder headerDirs() = %q", got)
	}
	halving := "#include <cuda_fp16.h>\nextern \"C\" __global__ void scale(float* x) { x[0] *= HALF; }\n"
	c := openNVRTC(t, 1)
	if _, err := c.Compile(t.Context(), request(halving)); err != nil {
		t.Error(err)
	}
	c.headers = nil
	_, err := c.Compile(t.Context(), request(halving))
	var refused *Error
	if !errors.As(err, &refused) || !strings.Contains(refused.Message, "point CUDA_HOME at a CUDA toolkit") {
		t.Errorf("without headers: %v", err)
	}
}
