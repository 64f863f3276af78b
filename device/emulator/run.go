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

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/elements"
	"autotune/device/trial"
	"autotune/internal/scratch"
	"autotune/operator"
	"autotune/space/expr"
)

// HostTensor is a tensor or a scalar that Run passes to a kernel as an argument. Raw contains a tensor's bytes; for a
// tensor that the kernel writes, it gives the size before the run and contains the result afterwards. A tensor without
// elements is passed as a null pointer. Value is set for a scalar argument only.
type HostTensor struct {
	Role  operator.Role
	Type  operator.Type
	Raw   []byte
	Value expr.Value
}

// HostTensorOf returns a tensor of the numbers, rounded to the argument's type: f32, a smaller float, bool or i64.
func HostTensorOf(a operator.Argument, numbers []float32) HostTensor {
	t := HostTensor{Role: a.Role, Type: a.Type}
	for _, n := range numbers {
		bits := uint64(int64(n))
		if a.Type == operator.F32 {
			bits = uint64(math.Float32bits(n))
		} else if a.Type.Kind() == operator.Floating {
			bits = uint64(elements.Round(a.Type, n))
		}
		t.Raw = append(t.Raw, binary.LittleEndian.AppendUint64(nil, bits)[:a.Type.Bytes()]...)
	}
	return t
}

// Floats returns the contents of a tensor of one of the types that HostTensorOf supports.
func (t HostTensor) Floats() []float32 {
	numbers := make([]float32, len(t.Raw)/int(t.Type.Bytes()))
	for i := range numbers {
		bits := elements.Bits(t.Type, t.Raw, int64(i))
		if numbers[i] = float32(int64(bits)); t.Type.Kind() == operator.Floating {
			numbers[i] = float32(elements.Number(t.Type, bits))
		}
	}
	return numbers
}

const runTimeout = time.Minute

// Run launches the first kernel of a program that the emulator's compiler made, with the given arguments, and fills the
// outputs. Run serves to test a kernel against known values. If the kernel fails, Run's error begins with the status of
// the failure.
func Run(ctx context.Context, program *compile.Binary, launch operator.Launch, tensors []HostTensor) error {
	if message := refused(operator.Launches{launch}, Limits()); message != "" {
		return errors.New(message)
	}
	folder, err := scratch.New("emulator")
	if err != nil {
		return err
	}
	defer folder.Close()
	dir := folder.Dir
	launch.Entry, launch.Arguments = "", nil
	j := job{launches: operator.Launches{launch}, workers: runtime.NumCPU(), protocol: device.Protocol{LaunchTimeout: runTimeout}}
	for i, t := range tensors {
		given := jobArgument{Argument: operator.Argument{Name: fmt.Sprintf("argument%d", i), Role: t.Role, Type: t.Type, Value: t.Value}}
		given.Elements = int64(len(t.Raw)) / t.Type.Bytes()
		if given.Elements > 0 && t.Role.Filled() {
			given.input = given.Name
			if err := os.WriteFile(filepath.Join(dir, given.input), t.Raw, 0o600); err != nil {
				return fmt.Errorf("emulator: %w", err)
			}
		}
		if given.Elements > 0 && t.Role.Compared() {
			given.output = given.Name + ".output"
		}
		j.arguments = append(j.arguments, given)
	}
	a, err := runProgram(ctx, dir, program.Code, j, nil)
	if err != nil {
		return err
	}
	if a.Status != trial.OK {
		return fmt.Errorf("%s: %s", a.Status, a.Message)
	}
	for i, a := range j.arguments {
		if a.output == "" {
			continue
		}
		contents, err := os.ReadFile(filepath.Join(dir, a.output))
		if err != nil {
			return fmt.Errorf("emulator: %w", err)
		}
		copy(tensors[i].Raw, contents)
	}
	return nil
}
