//go:build !cuda

package cuda

import (
	"context"
	"io"
)

// hasWorker tells that this binary was built without the worker.
const hasWorker = false

// Worker says that this binary has none; with the tag it is the worker process.
func Worker(context.Context, io.Reader, io.Writer) error { return errNotBuilt() }
