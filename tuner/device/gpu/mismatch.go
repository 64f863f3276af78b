package gpu

import (
	"fmt"

	"autotune/internal/output"
	"autotune/tuner/compile"
	"autotune/tuner/operator"
)

const pointerBytes = 8

// mismatch says that a kernel does not take the arguments that it will be given; ""
// if it does, or if the binary does not tell. The driver would not: it reads what
// lies behind the arguments.
func mismatch(d Driver, b *compile.Binary, k operator.Kernel, arguments []operator.Argument) string {
	for _, l := range k.Launches {
		var passed []operator.Argument
		for _, i := range operator.Passed(arguments, l) {
			passed = append(passed, arguments[i])
		}
		if wrong := launchMismatch(d, b, l.Entry, passed); wrong != "" {
			if len(k.Launches) > 1 {
				wrong = l.Entry + ": " + wrong
			}
			return wrong
		}
	}
	return ""
}

// launchMismatch is what mismatch says of one kernel and what it is given.
func launchMismatch(d Driver, b *compile.Binary, entry string, arguments []operator.Argument) string {
	size, known := d.ParameterBytes(b.Code, b.Symbol(entry))
	wanted, scalars := argumentBytes(arguments)
	tensors := len(arguments) - scalars
	switch {
	case !known || size == wanted:
		return ""
	case scalars > 0:
		return fmt.Sprintf("the kernel's parameters take %s, the operator's %s and %s %d",
			output.Count(size, "byte"), output.Count(tensors, "tensor"), output.Count(scalars, "scalar"), wanted)
	case size%pointerBytes != 0:
		return fmt.Sprintf("the kernel's parameters take %s, the pointers of the operator's %s %d",
			output.Count(size, "byte"), output.Count(tensors, "tensor"), wanted)
	}
	return fmt.Sprintf("the kernel takes %s, the operator has %s", output.Count(size/pointerBytes, "pointer"), output.Count(tensors, "tensor"))
}

// argumentBytes is what arguments take as a kernel's parameters, each aligned to its
// size, and how many of them are scalars.
func argumentBytes(arguments []operator.Argument) (bytes, scalars int) {
	for _, a := range arguments {
		size := pointerBytes
		if a.Role == operator.Scalar {
			size = int(a.Type.Bytes())
			scalars++
		}
		bytes = (bytes+size-1)/size*size + size
	}
	return bytes, scalars
}
