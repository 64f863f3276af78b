//go:build cuda

package cuda

import (
	"errors"
	"strings"
	"testing"

	"autotune/internal/libcuda"
	"autotune/internal/worker"
	"autotune/tuner/device"
)

func realWorkers() map[string]worker.Func {
	return map[string]worker.Func{workerName: Worker}
}

func TestNoDriver(t *testing.T) {
	if libcuda.Error() == nil {
		t.Skip("this machine has a driver")
	}
	_, openErr := Open(t.Context(), 0, fakeCompiler{})
	_, listErr := List(t.Context())
	for _, err := range []error{openErr, listErr} {
		if !errors.Is(err, device.ErrNone) || !strings.Contains(err.Error(), "libcuda.so.1") {
			t.Errorf("without a driver: %v", err)
		}
	}
}
