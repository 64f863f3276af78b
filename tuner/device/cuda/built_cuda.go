//go:build cuda

package cuda

// hasWorker tells that this binary holds the worker.
const hasWorker = true
