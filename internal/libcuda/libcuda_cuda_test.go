//go:build cuda

package libcuda_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"autotune/internal/test/must"

	"gorgonia.org/cu"

	"autotune/internal/libcuda"
)

// This test passes if its binary, which links gorgonia.org/cu, starts on machines with and without a CUDA driver.
func TestStartsWithOrWithoutDriver(t *testing.T) {
	err := libcuda.Error()
	count, countErr := cu.NumDevices()
	if err == nil {
		t.Logf("driver %d, %d devices (%v)", cu.Version(), count, countErr)
		return
	}
	t.Logf("no driver: %v", err)
	if countErr == nil {
		t.Errorf("cu.NumDevices() = %d with no driver, want an error", count)
	}
	if _, again := cu.MemAlloc(16); again == nil {
		t.Error("cu.MemAlloc succeeded with no driver")
	}
}

func TestLinksNoDriver(t *testing.T) {
	self, err := os.Executable()
	must.OK(t, err)
	out, err := exec.Command("ldd", self).CombinedOutput()
	if err != nil {
		t.Skipf("ldd: %v", err)
	}
	if strings.Contains(string(out), "libcuda") {
		t.Errorf("the binary needs libcuda to start:\n%s", out)
	}
}
