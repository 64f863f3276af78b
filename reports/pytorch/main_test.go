package pytorch

import (
	"context"
	"io"
	"os"
	"testing"

	"autotune/device/compile"
	"autotune/internal/worker"
)

func TestMain(m *testing.M) {
	// NVRTC compiles in child processes of the running executable, here the test executable.
	worker.Dispatch(map[string]func(ctx context.Context, in io.Reader, out io.Writer) error{"compile": compile.Worker})
	os.Exit(m.Run())
}
