package pack

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"unsafe"

	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
)

// A launch must pass the plan's values to the driver. The test launches the kernel in a second process, which loads an
// imitation of the driver.
func TestCUDA(t *testing.T) {
	const variable = "AUTOTUNE_STAND_IN"
	if os.Getenv(variable) != "" {
		gpu, err := CUDA(0)
		must.OK(t, err)
		k, err := gpu.Load([]byte("an image\x00"), "plain", 1<<16)
		must.OK(t, err)
		argument := Pointer(0x2000)
		l := Launch{Grid: [3]int64{2, 1, 1}, Block: [3]int64{32, 1, 1}, SharedBytes: 8}
		for range 2 {
			must.OK(t, gpu.Launch(k, l, 7, []unsafe.Pointer{unsafe.Pointer(&argument)}))
			l.Cluster, l.Dependent = [3]int64{2, 1, 1}, true
		}
		return
	}
	testneeds.CXX.Need(t)
	self, err := os.Executable()
	must.OK(t, err)
	dir := t.TempDir()
	library := filepath.Join(dir, "libcuda.so.1")
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-o", library, "packer/testdata/libcuda.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(self, "-test.run=^TestCUDA$")
	cmd.Env = append(os.Environ(), variable+"=1", "LD_LIBRARY_PATH="+dir)
	out, err := cmd.CombinedOutput()
	const want = `load an image: plain
shared 8 65536
launch 2 1 1, 32 1 1, 8 on 0x7: 0x2000
attribute 4 2
attribute 6 1
launch 2 1 1, 32 1 1, 8 on 0x7: 0x2000
PASS
`
	if err != nil || string(out) != want {
		t.Errorf("%v; it asks for\n%swant\n%s", err, out, want)
	}
}
