package gpu

import (
	"os"
	"testing"

	"autotune/internal/worker"
	"autotune/tuner/compile"
)

func TestMain(m *testing.M) {
	worker.Dispatch(map[string]worker.Func{"compile": compile.Worker})
	os.Exit(m.Run())
}
