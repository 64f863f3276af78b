//go:build !cuda || !gpu

package gputest

import (
	"context"
	"io"
	"os"
	"testing"

	"autotune/device/compile"
	"autotune/internal/worker"
)

func TestMain(m *testing.M) {
	worker.Dispatch(map[string]func(context.Context, io.Reader, io.Writer) error{"compile": compile.Worker})
	os.Exit(m.Run())
}
