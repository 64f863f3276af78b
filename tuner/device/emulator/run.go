package emulator

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"autotune/tuner/compile"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// HostTensor is one of a kernel's pointer arguments with its contents. Data of
// an output gives its size, and holds the result after a run; a tensor without
// elements is passed as a null pointer.
type HostTensor struct {
	Role operator.Role
	Data []float32
}

// runTimeout is how long a kernel may take in Run.
const runTimeout = time.Minute

// Fault is a kernel that did not come to its end.
type Fault struct {
	Status  string // crashed, timeout or deadlock; wrong_result if it wrote where it must not
	Message string
}

func (f *Fault) Error() string { return f.Status + ": " + f.Message }

// Run runs a program that the emulator's compiler made on the contents given,
// and fills the outputs: for proving a kernel against values known from
// elsewhere. What the kernel does wrong is a *Fault.
func Run(ctx context.Context, program *compile.Binary, launch operator.Launch, tensors []HostTensor) error {
	if problem := launchProblem(launch, Limits()); problem != "" {
		return errors.New(problem)
	}
	dir, err := os.MkdirTemp("", "autotune-emulator-")
	if err != nil {
		return fmt.Errorf("the emulator needs a temporary folder: %w", err)
	}
	defer os.RemoveAll(dir)
	path, err := writeProgram(dir, program.Code)
	if err != nil {
		return fmt.Errorf("emulator: %w", err)
	}
	j := job{launch: launch, workers: runtime.NumCPU(), distribution: "uniform01", timeout: runTimeout}
	for i, t := range tensors {
		given := jobTensor{name: fmt.Sprintf("argument%d", i), role: t.Role, elements: int64(len(t.Data))}
		switch {
		case len(t.Data) == 0:
		case t.Role == operator.Output:
			given.output = given.name
		default:
			given.input = given.name
			if err := writeFloats(filepath.Join(dir, given.name), t.Data); err != nil {
				return fmt.Errorf("emulator: %w", err)
			}
		}
		j.tensors = append(j.tensors, given)
	}
	a, err := runProgram(ctx, dir, path, j, nil)
	if err != nil {
		return err
	}
	if a.Status == unable {
		return fmt.Errorf("emulator: %s", a.Message)
	}
	if a.Status != trial.OK {
		return &Fault{string(a.Status), a.Message}
	}
	for i, t := range tensors {
		if t.Role != operator.Output || len(t.Data) == 0 {
			continue
		}
		if err := readFloats(filepath.Join(dir, j.tensors[i].name), t.Data); err != nil {
			return fmt.Errorf("emulator: %w", err)
		}
	}
	return nil
}

func writeFloats(path string, data []float32) error {
	bytes := make([]byte, 4*len(data))
	for i, v := range data {
		binary.NativeEndian.PutUint32(bytes[4*i:], math.Float32bits(v))
	}
	return os.WriteFile(path, bytes, 0o600)
}

func readFloats(path string, data []float32) error {
	bytes, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if len(bytes) != 4*len(data) {
		return fmt.Errorf("%s has %d bytes, not %d", path, len(bytes), 4*len(data))
	}
	for i := range data {
		data[i] = math.Float32frombits(binary.NativeEndian.Uint32(bytes[4*i:]))
	}
	return nil
}
