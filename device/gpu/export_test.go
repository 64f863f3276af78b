package gpu

// These variables export functions for tests in another package, which use NVIDIA's compiler and driver. Those import
// this package.
var (
	Mismatch   = mismatch
	CheckParts = checkParts
)
