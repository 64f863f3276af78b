// Package emulator is a device that runs kernels on the CPU, for machines
// without a GPU.
//
// A variant is the kernel's own .cu file, compiled by the host's C++ compiler
// against a small shim (folder shim) that gives it CUDA's words, and linked with
// a runtime (folder runtime) into a program. The program takes a job, runs the
// grid's blocks over the machine's cores and each block's threads by switching
// between their stacks, checks and times the result, and answers with a line of
// JSON. One program a variant means that nothing a kernel does wrong reaches
// the search: it may crash, hang or overwrite all it likes.
//
// The emulator is stricter than a GPU where that shows mistakes: shared memory
// starts as NaN, a missing wait for an asynchronous copy reads NaN, guard zones
// surround the tensors, threads that wait for ever are named. With
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
