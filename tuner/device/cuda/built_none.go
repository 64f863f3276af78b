//go:build !cuda

package cuda

// hasWorker tells that this binary was built without the worker.
const hasWorker = false
