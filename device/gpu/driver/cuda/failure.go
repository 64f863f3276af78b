//go:build cuda

package cuda

// #include <cuda.h>
import "C"

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"autotune/device/gpu"
	"autotune/internal/libcuda"
)

// failure converts an error of gorgonia.org/cu to a Failure with the driver's description. The error type of
// gorgonia.org/cu is not exported, and its message is only a short name.
func failure(err error) error {
	if err == nil {
		return nil
	}
	code := 0
	for inner := err; inner != nil && code == 0; inner = errors.Unwrap(inner) {
		if v := reflect.ValueOf(inner); v.Kind() == reflect.Int {
			code = int(v.Int())
		}
	}
	if code == 0 {
		return err
	}
	return failureOf(code, fmt.Sprintf("%v (%s)", err, libcuda.Text(code)))
}

func resultError(r C.CUresult) error {
	if r == C.CUDA_SUCCESS {
		return nil
	}
	return failureOf(int(r), libcuda.Text(int(r)))
}

func failureOf(code int, text string) error {
	return &gpu.Failure{Text: text, Lost: slices.Contains(endsContext, code), Trouble: slices.Contains(trouble, code)}
}

// endsContext lists the errors after which every later call in the context fails with the same error.
var endsContext = []int{
	C.CUDA_ERROR_ECC_UNCORRECTABLE, C.CUDA_ERROR_NVLINK_UNCORRECTABLE,
	C.CUDA_ERROR_ILLEGAL_ADDRESS, C.CUDA_ERROR_LAUNCH_TIMEOUT, C.CUDA_ERROR_CONTEXT_IS_DESTROYED,
	C.CUDA_ERROR_ASSERT, C.CUDA_ERROR_HARDWARE_STACK_ERROR, C.CUDA_ERROR_ILLEGAL_INSTRUCTION,
	C.CUDA_ERROR_MISALIGNED_ADDRESS, C.CUDA_ERROR_INVALID_ADDRESS_SPACE, C.CUDA_ERROR_INVALID_PC,
	C.CUDA_ERROR_LAUNCH_FAILED, C.CUDA_ERROR_UNKNOWN,
}

// trouble lists the errors that are a fault of the GPU itself, whatever kernel runs on it.
var trouble = []int{
	C.CUDA_ERROR_ECC_UNCORRECTABLE, C.CUDA_ERROR_NVLINK_UNCORRECTABLE, C.CUDA_ERROR_CONTEXT_IS_DESTROYED,
	C.CUDA_ERROR_OUT_OF_MEMORY, C.CUDA_ERROR_UNKNOWN,
}
