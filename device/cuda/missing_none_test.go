//go:build !cuda

package cuda

// missingHere is named by errors of a binary without the worker.
const missingHere = "make"
