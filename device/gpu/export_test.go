package gpu

// These variables export functions for tests in package gpu_test, which need NVIDIA's compiler and driver. The compiler
// and the driver import this package.
var (
	Mismatch   = mismatch
	CheckParts = checkParts
)
