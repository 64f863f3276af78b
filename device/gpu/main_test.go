package gpu

import (
	"os"
	"testing"

	"autotune/device/compile"
	"autotune/internal/worker"
)

func TestMain(m *testing.M) {
	worker.Dispatch(map[string]worker.Func{"compile": compile.Worker})
	os.Exit(m.Run())
}
