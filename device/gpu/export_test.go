package gpu

// These variables export functions for tests outside of the package. Those tests use NVIDIA's compiler and driver,
// which import this package.
var (
	Mismatch   = mismatch
	CheckParts = checkParts
)
