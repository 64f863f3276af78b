package emulator

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"autotune/internal/scratch"
	"autotune/space/expr"
	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/device/elements"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// HostTensor is one of a kernel's arguments. Data, or the Raw bytes of a tensor of
// another Type than f32, are a tensor's contents; of one that the kernel writes
// they give its size, and hold the result after a run. A tensor without elements is
// passed as a null pointer. A scalar has a Type and a Value.
type HostTensor struct {
	Role  operator.Role
	Data  []float32
	Type  operator.Type // "": f32
	Raw   []byte
	Value expr.Value
}

// HostTensorOf is a problem's tensor with numbers, each rounded to the tensor's type.
func HostTensorOf(a operator.Argument, numbers []float32) HostTensor {
	if a.Type == operator.F32 {
		return HostTensor{Role: a.Role, Data: numbers}
	}
	bytes, _ := binary.Append(nil, binary.LittleEndian, numbers) // floats have a fixed size
	return HostTensor{Role: a.Role, Type: a.Type, Raw: elements.Narrow(a.Type, bytes)}
}

// Floats are the contents of a tensor of f32 or a small floating type.
func (t HostTensor) Floats() []float32 {
	if t.Raw == nil {
		return t.Data
	}
	bytes := elements.Widen(t.Type, t.Raw)
	numbers := make([]float32, len(bytes)/4)
	_, _ = binary.Decode(bytes, binary.LittleEndian, numbers) // as above
	return numbers
}

// argument is the tensor as a problem would have it.
func (t HostTensor) argument(name string) operator.Argument {
	a := operator.Argument{Name: name, Role: t.Role, Type: cmp.Or(t.Type, operator.F32), Value: t.Value}
	a.Elements = int64(len(t.Data))
	if t.Raw != nil {
		a.Elements = int64(len(t.Raw)) / a.Type.Bytes()
	}
	return a
}

// runTimeout is how long a kernel may take in Run.
const runTimeout = time.Minute

// Run launches the first kernel of a program that the emulator's compiler made, with
// the contents given as its arguments, and fills the outputs: for proving a kernel
// against values known from elsewhere. What the kernel does wrong is an error that begins with its status.
func Run(ctx context.Context, program *compile.Binary, launch operator.Launch, tensors []HostTensor) error {
	if r := refuseLaunches(operator.Launches{launch}, Limits()); r.message != "" {
		return errors.New(r.message)
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
		given := jobArgument{Argument: t.argument(fmt.Sprintf("argument%d", i))}
		if given.Elements > 0 && t.Role.Filled() {
			given.input = given.Name
			if err := t.write(filepath.Join(dir, given.input)); err != nil {
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
		if err := tensors[i].read(filepath.Join(dir, a.output)); err != nil {
			return fmt.Errorf("emulator: %w", err)
		}
	}
	return nil
}

func (t HostTensor) write(path string) error {
	contents := t.Raw
	if contents == nil {
		var err error
		if contents, err = binary.Append(nil, binary.NativeEndian, t.Data); err != nil {
			return err
		}
	}
	return os.WriteFile(path, contents, 0o600)
}

func (t HostTensor) read(path string) error {
	contents, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if t.Raw != nil {
		copy(t.Raw, contents)
		return nil
	}
	_, err = binary.Decode(contents, binary.NativeEndian, t.Data)
	return err
}
