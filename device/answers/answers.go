// Package answers runs an operator's Python file, which computes the right outputs of a problem. Devices run the Python
// file once for each problem and set of inputs.
//
// Tensors are passed to Python and back in files. A tensor's contents are the last bytes of its file, dense and
// row-major, so that raw files and .npy files are mapped into memory in the same way.
package answers

import (
	"context"
	"fmt"
	"os"
	"syscall"

	"autotune/device"
	"autotune/device/compile"
	"autotune/operator"
)

// Question is a problem together with the inputs for which its right outputs are wanted.
type Question struct {
	Problem *operator.Problem
	Inputs  device.Inputs
	Drawn   string // the code that draws the inputs; the last bits may differ between devices
	// CacheDir is the folder that keeps answers between runs; with "" no answer is kept.
	CacheDir string
	// Write writes the contents of the tensors that a kernel reads into files of dir, and returns the files' names in
	// the order of the arguments. Write is called only if the answer is not cached.
	Write func(ctx context.Context, dir string) ([]string, error)
}

// Name returns the name of the file that holds a tensor's right answer, or "" if the tensor is not compared.
func Name(a operator.Argument) string {
	if !a.Role.Compared() || a.Elements == 0 {
		return ""
	}
	return a.Name + ".reference"
}

// Answer writes the right answers into files of dir, named as Name says. If the operator's Python file is at fault,
// Answer returns a *device.ReferenceError.
func (q Question) Answer(ctx context.Context, dir string) error {
	if !q.Problem.Operator.Named {
		return fault(q, "is a Python file, which runs only where the operator's path is named on the command line")
	}
	files := compile.Kept(q.CacheDir)
	id, err := q.id()
	if err != nil || files != nil && q.take(files, id, dir) {
		return err
	}
	if err = runPython(ctx, q, dir); err == nil && files != nil {
		q.keep(files, id, dir)
	}
	return err
}

func fault(q Question, format string, args ...any) error {
	return device.Blame(q.Problem.Operator.Name, "", format, args...)
}

// InputName returns the name of the file that holds a tensor whose contents are not drawn at random.
func InputName(a operator.Argument) string { return a.Name + ".input" }

// OutputName returns the name of the file that holds a tensor as a kernel has written it.
func OutputName(a operator.Argument) string { return a.Name + ".output" }

// Map maps a tensor's contents, the last bytes of a file, into memory, where they stay until done is called.
func Map(path string, bytes int64) (contents []byte, done func(), err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	start := info.Size() - bytes
	if start < 0 {
		return nil, nil, fmt.Errorf("%s has %d bytes, and the tensor %d: it has changed while it was in use", path, info.Size(), bytes)
	}
	all, err := syscall.Mmap(int(f.Fd()), 0, int(start+bytes), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, err
	}
	return all[start:], func() { _ = syscall.Munmap(all) }, nil
}
