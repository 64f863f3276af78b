package emulator

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"autotune/tuner/compile"
	"autotune/tuner/device"
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

// Run runs a program that the emulator's compiler made on the contents given,
// and fills the outputs: for proving a kernel against values known from
// elsewhere. What the kernel does wrong is an error that begins with its status.
func Run(ctx context.Context, program *compile.Binary, launch operator.Launch, tensors []HostTensor) error {
	if problem := launchProblem(launch, Limits()); problem != "" {
		return errors.New(problem)
	}
	folder, err := newScratch()
	if err != nil {
		return err
	}
	defer folder.Close()
	dir := folder.dir
	j := job{launch: launch, workers: runtime.NumCPU(), protocol: device.Protocol{Distribution: "uniform01", LaunchTimeout: runTimeout}}
	for i, t := range tensors {
		given := jobTensor{Argument: operator.Argument{Name: fmt.Sprintf("argument%d", i), Role: t.Role, Elements: int64(len(t.Data))}}
		switch {
		case len(t.Data) == 0:
		case t.Role == operator.Output:
			given.output = given.Name
		default:
			given.input = given.Name
			if err := writeFloats(filepath.Join(dir, given.Name), t.Data); err != nil {
				return fmt.Errorf("emulator: %w", err)
			}
		}
		j.tensors = append(j.tensors, given)
	}
	a, err := runProgram(ctx, dir, program.Code, j, nil)
	if err != nil {
		return err
	}
	if a.Status == unable {
		return fmt.Errorf("emulator: %s", a.Message)
	}
	if a.Status != trial.OK {
		return fmt.Errorf("%s: %s", a.Status, a.Message)
	}
	for i, t := range j.tensors {
		if t.output == "" {
			continue
		}
		if err := readFloats(filepath.Join(dir, t.output), tensors[i].Data); err != nil {
			return fmt.Errorf("emulator: %w", err)
		}
	}
	return nil
}

func writeFloats(path string, data []float32) error {
	bytes, err := binary.Append(nil, binary.NativeEndian, data)
	if err != nil {
		return err
	}
	return os.WriteFile(path, bytes, 0o600)
}

func readFloats(path string, data []float32) error {
	bytes, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	_, err = binary.Decode(bytes, binary.NativeEndian, data)
	return err
}
