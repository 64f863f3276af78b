//go:build cuda

package cuda

// missingHere is named by errors on a machine without a GPU.
const missingHere = "libcuda.so.1"
