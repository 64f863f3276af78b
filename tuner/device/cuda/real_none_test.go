//go:build !cuda

package cuda

import (
	"errors"
	"strings"
	"testing"

	"autotune/internal/worker"
	"autotune/tuner/device"
)

func realWorkers() map[string]worker.Func { return nil }

func TestBuiltWithoutTag(t *testing.T) {
	_, openErr := Open(t.Context(), 0, fakeCompiler{})
	_, listErr := List(t.Context())
	for _, err := range []error{openErr, listErr} {
		if !errors.Is(err, device.ErrNone) || !strings.Contains(err.Error(), "make") {
			t.Errorf("built without the tag: %v", err)
		}
	}
}
