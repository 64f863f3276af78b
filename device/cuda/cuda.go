// Package cuda is NVIDIA's GPUs as devices. Each is used by a child process, this same
// executable started again: package remote speaks with it and replaces it when a kernel
// takes it down. In the child, package gpu drives the GPU through gpu/driver/cuda.
//
// The compilers stay in the search's process, and so does compute-sanitizer's part: a
// variant is launched once more in a child under each of its tools.
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

// workerName is what the program's main dispatches Worker under.
const workerName = "cuda"

// Worker is the child process of a GPU.
func Worker(ctx context.Context, in io.Reader, out io.Writer) error {
	return remote.Serve(ctx, in, out, remote.Vendor{
		List: driver.Driver().List, Exit: driver.Exit,
		Open: func(s remote.Setup, c compile.Compiler) (device.Device, error) {
			return gpu.Open(driver.Driver(), s.Ordinal, gpu.Options{Compiler: c, Target: s.Target, CacheDir: s.CacheDir})
		},
	})
}

// Options adjust a GPU; the zero value is right for a search.
type Options struct {
	CacheDir string // where compilations are kept; "": nowhere
	Sanitize bool   // also run each variant under NVIDIA's compute-sanitizer
}

// Open opens the GPU with that ordinal (in the driver's order, see List) and the compiler for it. The error wraps
// device.ErrNone when there is no such GPU, and compile.ErrMissing when there is no compiler. It wraps ErrNoSanitizer
// when compute-sanitizer was asked for and is missing.
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
		Ahead: gpu.Kernels([]operator.Argument{{Type: operator.F16}}), // all: a problem's types are known too late
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

// List describes the GPUs of this machine. The error wraps device.ErrNone when there are none.
func List(ctx context.Context) ([]device.Info, error) { return remote.Devices(ctx, workerName) }
