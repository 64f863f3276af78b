// Package emulator is a device that runs kernels on the CPU, for machines
// without a GPU.
//
// A variant is the kernel's own .cu file as a program. The host's C++ compiler
// compiles it against a small shim (folder shim) that gives it CUDA's words. A
// runtime (folder runtime) is linked to it. The program takes a job and runs the
// grid's blocks over the machine's cores. It runs each block's threads by
// switching between their stacks. It checks and times the result, and answers
// with a line of JSON. Each variant has a program of its own, so no fault of a
// kernel reaches the search: it may crash, hang or overwrite all it likes.
//
// The emulator is stricter than a GPU where that shows mistakes. Shared memory
// starts as NaN. A missing wait for an asynchronous copy reads NaN. Guard zones
// surround the tensors. Threads that wait for ever are named. With
// Options.Sanitize the compiler's sanitizers watch every access.
//
// Its times are those of a CPU: they rank nothing that matters on a GPU.
package emulator

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/operator"
)

// Options adjust the emulator; the zero value is right for a search.
type Options struct {
	Sanitize bool   // watch memory accesses and undefined behaviour
	CacheDir string // where compilations are kept; "": nowhere
}

// Open finds the host's C++ compiler; without one the error wraps ErrNoCompiler.
func Open(o Options) (device.Device, error) {
	host, err := newHostCompiler(o)
	if err != nil {
		return nil, err
	}
	var c compile.Compiler = host
	if o.CacheDir != "" {
		c = compile.Cached(o.CacheDir, host)
	}
	return &emulated{sanitize: o.Sanitize, compiler: c, dir: host.scratch.Dir, cacheDir: o.CacheDir}, nil
}

// emulated is the emulator as a device.
type emulated struct {
	sanitize bool
	compiler compile.Compiler
	dir      string // the compiler's folder, for the sessions' folders too
	cacheDir string // where answers are kept; "": nowhere
}

func (e *emulated) Info() device.Info {
	return device.Info{
		Name:     "CPU emulator (" + cpuModel() + ")",
		Kind:     device.Emulator,
		Compiler: e.compiler.Version(),
		Limits:   Limits(),
	}
}

func (e *emulated) Compiler() compile.Compiler { return e.compiler }

func (e *emulated) Arch() string { return hostArch() }

// Open runs the reference once and keeps its output for all that follows.
func (e *emulated) Open(ctx context.Context, p *operator.Problem, reference *compile.Binary, proto device.Protocol) (device.Session, error) {
	if limits := Limits(); p.MemoryBytes() > limits.MemoryBytes/2 {
		// The reference's output is kept beside the variant's tensors.
		return nil, fmt.Errorf("%w: %s needs %d bytes, this machine has %d for the emulator", device.ErrMemory, p, p.MemoryBytes(), limits.MemoryBytes/2)
	}
	return openSession(ctx, e, p, reference, proto)
}

// Close ends the compiler and removes every temporary file.
func (e *emulated) Close() error { return e.compiler.Close() }

// temporary makes a new folder within dir; "" is the system's.
func temporary(dir, pattern string) (string, error) {
	made, err := os.MkdirTemp(dir, pattern)
	if err != nil {
		return "", fmt.Errorf("the emulator needs a temporary folder: %w", err)
	}
	return filepath.Clean(made), nil
}
