// Package answers runs the Python file of an operator that says what a problem's outputs should be. Devices ask it once
// a problem and once a set of inputs.
//
// A tensor's contents travel in files: they are a file's last bytes, dense and
// row-major, so that raw files and .npy files are read alike, and where they are.
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

// Question is a problem with the inputs that it is asked on.
type Question struct {
	Problem *operator.Problem
	Inputs  device.Inputs
	Drawn   string // what draws the inputs: on another device their last bits may differ
	// CacheDir is where answers are kept; "": nowhere.
	CacheDir string
	// Write writes what the tensors that are read hold into files of a folder, and
	// gives their names by argument. It is asked only where the answer is not known.
	Write func(ctx context.Context, dir string) ([]string, error)
}

// Name is the file of a folder with a tensor's right answer; "" if the tensor is not compared.
func Name(a operator.Argument) string {
	if !a.Role.Compared() || a.Elements == 0 {
		return ""
	}
	return a.Name + ".reference"
}

// Answer writes the right answers into files of a folder, whose names Name gives. A fault of the
// operator's is a *device.ReferenceError.
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

// InputName is the file of a folder with what a tensor holds that is not drawn.
func InputName(a operator.Argument) string { return a.Name + ".input" }

// OutputName is the file of a folder with what a kernel made of a tensor.
func OutputName(a operator.Argument) string { return a.Name + ".output" }

// Map reads a tensor's contents, the last bytes of a file, in place, until done.
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
