//go:build cuda

package cuda

// missingHere is the library that errors name on a machine without a GPU.
const missingHere = "libcuda.so.1"
