package gpu

// What tests need that use NVIDIA's compiler and driver, which import this package.
var (
	Mismatch   = mismatch
	CheckParts = checkParts
)
