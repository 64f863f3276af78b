//go:build !cuda

package cuda

// missingHere is a word in the errors of a binary that was built without the GPU worker.
const missingHere = "make"
