// Package answers runs the Python file of an operator that says what a problem's outputs should be. Devices ask it once
// a problem and once a set of inputs.
//
// A tensor's contents travel in files: they are a file's last bytes, dense and
// row-major, so that raw files and .npy files are read alike, and where they are.
package answers

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"autotune/device"
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
	kept, err := q.openKept()
	if err != nil {
		return err
	}
	if kept.take(q, dir) {
		return nil
	}
	if err := runPython(ctx, q, dir); err != nil {
		return err
	}
	kept.put(q, dir)
	return nil
}

func fault(q Question, format string, args ...any) error {
	return device.Blame(q.Problem.Operator.Name, "", format, args...)
}

// alignment is the multiple of bytes at which NumPy begins an array in its file.
const alignment = 64

// InputName is the file of a folder with what a tensor holds that is not drawn.
func InputName(a operator.Argument) string { return a.Name + ".input" }

// OutputName is the file of a folder with what a kernel made of a tensor.
func OutputName(a operator.Argument) string { return a.Name + ".output" }

// PlaceInputs writes the contents of tensors that the operator's data files fill into files of a
// folder. It returns their paths by argument; "" for tensors that are filled otherwise.
func PlaceInputs(p *operator.Problem, dir string) ([]string, error) {
	paths := make([]string, len(p.Arguments))
	for i, a := range p.Arguments {
		if a.Fill == nil || a.Fill.File == "" || a.Elements == 0 {
			continue
		}
		paths[i] = filepath.Join(dir, InputName(a))
		if err := Place(p.Operator.Data[a.Fill.File], a.Type, paths[i]); err != nil {
			return nil, fmt.Errorf("fill %s: %w", a.Name, err)
		}
	}
	return paths, nil
}

// Place makes a new file of that path hold a data file's elements, as a type's. It
// copies nothing that the data file has already.
func Place(d *operator.DataFile, t operator.Type, path string) error {
	f, err := d.Open()
	if err != nil {
		return err
	}
	defer f.Close()
	if onDisk, ok := f.(*os.File); ok && t.InNumPy() && d.Start%alignment == 0 {
		from, err := filepath.Abs(onDisk.Name())
		if err != nil {
			return err
		}
		if err := remove(path); err != nil {
			return err
		}
		return os.Symlink(from, path)
	}
	to, err := create(path)
	if err != nil {
		return err
	}
	defer to.Close()
	if _, err = io.CopyN(io.Discard, f, d.Start); err == nil {
		err = convert(to, f, t, narrow)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", d.Name, err)
	}
	return to.Close()
}

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
