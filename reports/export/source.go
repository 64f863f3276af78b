package export

import (
	"context"
	"io"

	"autotune/reports/cudasource"
	"autotune/reports/pytorch"
)

var cu = Format{Name: "cu", Summary: "the kernel as one CUDA file", Write: ofKernel(func(out io.Writer, w cudasource.Winner) error {
	return w.WriteCUDA(out)
})}

var torch = Format{Name: "pytorch", Summary: "a Python file with a module that takes the place of PyTorch's own", Write: ofKernel(pytorch.Write)}

// ofKernel writes a format that has no more than the kernel.
func ofKernel(write func(io.Writer, cudasource.Winner) error) func(context.Context, io.Writer, Winner) ([]string, error) {
	return func(_ context.Context, out io.Writer, w Winner) ([]string, error) {
		k, err := w.Kernel()
		if err != nil {
			return nil, err
		}
		return nil, write(out, k)
	}
}
