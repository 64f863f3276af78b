package gpu

// The following variables export functions of package gpu for tests in package gpu_test, which need NVIDIA's compiler
// and driver. Tests of package gpu itself cannot import the compiler and the driver, because the packages of both
// import package gpu.
var (
	Mismatch   = mismatch
	CheckParts = checkParts
)
