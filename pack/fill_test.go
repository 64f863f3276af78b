package pack

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"unsafe"

	"autotune/internal/test/testneeds"
)

// What fills constant memory waits for all that has read it, on whatever stream, but for graphs. Another
// process does so, with a stand-in for the driver.
func TestFill(t *testing.T) {
	const variable = "AUTOTUNE_STAND_IN"
	if os.Getenv(variable) != "" {
		fillTwice(t)
		return
	}
	testneeds.CXX.Need(t)
	self, err := os.Executable()
	must(t, err)
	dir := t.TempDir()
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-o", filepath.Join(dir, "libcuda.so.1"), "packer/testdata/libcuda.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(self, "-test.run=^TestFill$")
	cmd.Env = append(os.Environ(), variable+"=1", "LD_LIBRARY_PATH="+dir)
	out, err := cmd.CombinedOutput()
	const want = `variable taps
load an image: plain
wait on 0x7
copy 12 to 0xc0 from 0x1000 on 0x7
launch 2 1 1, 32 1 1, 0 on 0x7: 0x2000
record on 0x7
copy 12 to 0xc0 from 0x1000 on 0x99
launch 2 1 1, 32 1 1, 0 on 0x99: 0x2000
wait on 0x8
copy 12 to 0xc0 from 0x1000 on 0x8
record on 0x8
PASS
`
	if err != nil || string(out) != want {
		t.Errorf("%v; it asks for\n%swant\n%s", err, out, want)
	}
}

func fillTwice(t *testing.T) {
	gpu, err := CUDA(0)
	must(t, err)
	image := []byte("an image\x00")
	at, bytes, err := gpu.Variable(image, "taps")
	if err != nil || bytes != 1<<16 {
		t.Fatalf("the variable has %d bytes: %v", bytes, err)
	}
	k, err := gpu.Load(image, "plain", 0)
	must(t, err)
	copies, argument := []Copy{{To: at, From: 0x1000, Bytes: 12}}, Pointer(0x2000)
	for _, s := range []Stream{7, 0x99} {
		err := gpu.Fill(image, copies, s, func() error {
			return gpu.Launch(k, Launch{Grid: [3]int64{2, 1, 1}, Block: [3]int64{32, 1, 1}}, s, []unsafe.Pointer{unsafe.Pointer(&argument)})
		})
		if err != nil {
			t.Error(err)
		}
	}
	failure := errors.New("no such kernel")
	if err := gpu.Fill(image, copies, 8, func() error { return failure }); err != failure {
		t.Errorf("a launch that fails: %v", err)
	}
}
