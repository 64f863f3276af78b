package packer

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"autotune/internal/testneeds"
	"autotune/reports/cudasource"
	"autotune/tuner/operator"
)

// The package for PyTorch, with stand-ins for PyTorch and for the driver.
func TestPython(t *testing.T) {
	testneeds.CXX.Need(t)
	testneeds.Python.Need(t)
	w := winner(t, operator.Request{Shape: []int64{1, 4, 9, 9}}, "conv2d")
	large := winner(t, operator.Request{Shape: []int64{1, 32, 20, 20}, Parameters: map[string]string{"c_out": "64"}}, "conv2d", "pipelined_gemm")
	path, dir := packed(t, "layers", []cudasource.Winner{large}), t.TempDir()
	cc(t, "-shared", "-fPIC", "-o", filepath.Join(dir, "libcuda.so.1"), "testdata/libcuda.c")
	run := func() string {
		cmd := exec.Command("python3", "testdata/use_pack.py", "../../reports/pytorch/testdata", path)
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+dir, "PYTHONDONTWRITEBYTECODE=1")
		out, _ := cmd.CombinedOutput() // it says itself what is wrong
		return string(out)
	}
	if out := run(); !strings.Contains(out, "attribute 6 1\n") || !strings.Contains(out, "workspaces (1, 64, 18, 18)") {
		t.Errorf("several launches with workspaces: %s", out)
	}
	path = packed(t, "layers", []cudasource.Winner{w})
	out := run()
	for _, want := range []string{
		"conv2d(Tensor x_, Tensor? weight_, Tensor? bias_, int[] settings, str mode) -> Tensor", "tuned (1, 128, 7, 7)", "general (2, 128, 5, 4)",
		"module (1, 128, 7, 7)", "fake (1, 128, 7, 7)", "rank ValueError conv2d: x has the shape (4, 9, 9); it should have 4 dimensions",
		"groups ValueError conv2d: 3 groups do not divide the 4 input channels", "channels ValueError conv2d: weight has the shape",
		"stride ValueError conv2d: stride_h must be at least 1; it is 0", "mode ValueError conv2d: there is no math mode 'fp8'",
		"name ValueError conv2d: there is no parameter size", "type ValueError conv2d: type must be one of", "cpu ValueError conv2d: x is float32 on cpu",
		"load " + w.Kernel.Digest()[:40], "on 0x7: ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q", want)
		}
	}
	if strings.Contains(out, "TAKEN") || t.Failed() {
		t.Errorf("the output:\n%s", out)
	}
	kernel := cubin(t, path)
	data, err := os.ReadFile(kernel)
	must(t, err)
	data[1] ^= 2
	must(t, os.WriteFile(kernel, data, 0o644))
	if out := run(); !strings.Contains(out, "is not the file that was packed") || strings.Contains(out, "tuned") {
		t.Errorf("a flipped bit: %s", out)
	}
	edit(t, path, func(m map[string]any) { m["schema"] = "autotune/pack/2" })
	if out := run(); !strings.Contains(out, "has the schema 'autotune/pack/2'") {
		t.Errorf("a newer schema: %s", out)
	}
}
