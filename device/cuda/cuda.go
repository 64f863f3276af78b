// Package cuda makes devices of NVIDIA's GPUs. Each GPU is used by a child process, which is this executable started
// again. Package remote exchanges messages with the child and starts a new one when a kernel crashes it. Inside the
// child, package gpu drives the GPU through gpu/driver/cuda.
//
// The compilers and compute-sanitizer are driven by the search's process. For compute-sanitizer, the variant is
// launched once more under each of its tools, in a child process of its own.
package cuda

import (
	"context"
	"io"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/gpu"
	driver "autotune/device/gpu/driver/cuda"
	"autotune/device/remote"
	"autotune/operator"
)

// workerName is the name under which the program's main registers Worker.
const workerName = "cuda"

// Worker runs the child process that drives one GPU.
func Worker(ctx context.Context, in io.Reader, out io.Writer) error {
	return remote.Serve(ctx, in, out, remote.Vendor{
		List: driver.Driver().List, Exit: driver.Exit,
		Open: func(s remote.Setup, c compile.Compiler) (device.Device, error) {
			return gpu.Open(driver.Driver(), s.Ordinal, gpu.Options{Compiler: c, Target: s.Target, CacheDir: s.CacheDir})
		},
	})
}

// Options adjust how a GPU is used. The zero value of Options is right for a search.
type Options struct {
	CacheDir string // folder of cached compilations; "" means none
	Sanitize bool   // also run each variant under NVIDIA's compute-sanitizer
}

// Open opens the GPU with this ordinal (in the driver's order, see List) and its compiler. The error wraps
// device.ErrNone if there is no GPU with this ordinal, compile.ErrMissing if there is no compiler, and ErrNoSanitizer
// if compute-sanitizer is requested and not installed.
func Open(ctx context.Context, ordinal int, o Options) (device.Device, error) {
	var options []string
	var sanitizer string
	if o.Sanitize {
		var err error
		if sanitizer, err = FindSanitizer(); err != nil {
			return nil, err
		}
		options = append(options, compile.LineInfo)
	}
	d, err := remote.OpenChild(ctx, remote.ChildOptions{
		Worker: workerName, Ordinal: ordinal, CacheDir: o.CacheDir, Target: compile.Target,
		Ahead: gpu.Kernels([]operator.Argument{{Type: operator.F16}}), // all: the problem's types are not known yet
		Compiler: func(ctx context.Context) (compile.Compiler, error) {
			c, err := compile.NVRTC(ctx, options...)
			if err == nil && o.CacheDir != "" {
				c = compile.Cached(o.CacheDir, c)
			}
			return c, err
		},
	})
	switch {
	case err != nil:
		return nil, err
	case o.Sanitize:
		return &sanitized{d, sanitizer}, nil
	}
	return d, nil
}

// List describes the GPUs of this machine. The error wraps device.ErrNone if this machine has no GPU.
func List(ctx context.Context) ([]device.Info, error) { return remote.Devices(ctx, workerName) }
