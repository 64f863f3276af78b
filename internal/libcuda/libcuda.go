//go:build cuda

package libcuda

/*
#cgo CFLAGS: -I${SRCDIR}
#cgo LDFLAGS: -lcuda -ldl -lpthread
#include <cuda.h>

const char *libcuda_error(void);
*/
import "C"

import "errors"

// Error starts the CUDA driver if no call has started it yet, and returns why it did not start, or nil if it did.
func Error() error {
	if text := C.libcuda_error(); text != nil {
		return errors.New(C.GoString(text))
	}
	return nil
}

// Text returns the driver's name and description of a result code, such as "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal
// memory access was encountered".
func Text(code int) string {
	var name, description *C.char
	result := C.CUresult(code)
	if C.cuGetErrorName(result, &name) != C.CUDA_SUCCESS || name == nil {
		return "unknown CUDA error"
	}
	if C.cuGetErrorString(result, &description) != C.CUDA_SUCCESS || description == nil {
		return C.GoString(name)
	}
	return C.GoString(name) + ": " + C.GoString(description)
}
