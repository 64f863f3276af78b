package packer

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"autotune/internal/testneeds"
	"autotune/reports/cudasource"
	"autotune/tuner/operator"
)

// What a kernel is passed by value is its problem's. Python has it in TestPythonTensors.
func TestScalars(t *testing.T) {
	both, err := operator.Load(os.DirFS("testdata"), "both")
	must(t, err)
	path := packed(t, "layers", []cudasource.Winner{winnerOf(t, both, operator.Request{Shape: []int64{64}})})
	gpu := h100()
	plan, err := open(t, path).On(gpu).Plan("both", []int64{64}, nil, "")
	must(t, err)
	must(t, relaunch(plan))
	if got := math.Float64frombits(gpu.values[0][3]); got != -0.5 || len(plan.Tensors) != 3 {
		t.Errorf("Go passes %v beside %d tensors, want -0.5 beside 3", got, len(plan.Tensors))
	}

	testneeds.CXX.Need(t)
	dir, c := t.TempDir(), filepath.Join(path, "c")
	library, program := filepath.Join(dir, "libcuda.so.1"), filepath.Join(dir, "scalars")
	cc(t, "-shared", "-fPIC", "-o", library, "testdata/libcuda.c")
	cc(t, "-I"+c, "-o", program, "testdata/scalars.c", filepath.Join(c, "autotune_pack.c"), filepath.Join(c, "layers.c"), library, "-ldl")
	cmd := exec.Command(program, path)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+dir)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.HasSuffix(string(out), " 0x1000 0x2000 0x3000 0xbfe0000000000000\n") {
		t.Errorf("C: %v, %s", err, out)
	}
}
