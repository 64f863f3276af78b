package cuda

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"

	"autotune/internal/output"
	"autotune/tuner/compile"
	"autotune/tuner/operator"
)

// A cubin says of each kernel what its parameters take, as a list of attributes in
// a section of the kernel's own. Each has a format, a number and 16 bits, which are
// the value, or the size of the value that follows.
const (
	infoSection   = ".nv.info."
	sizedFormat   = 4
	parameterSize = 0x19 // of 16 bits
)

const (
	pointerBytes = 8
	versionAt    = 20 // of ELF's header, where a cubin has its toolkit's version
)

// mismatch says that a kernel does not take the arguments that it will be given; ""
// if it does, or if the binary does not tell. The driver would not: it reads what
// lies behind the arguments.
func mismatch(b *compile.Binary, k operator.Kernel, arguments []operator.Argument) string {
	for _, l := range k.Launches {
		var passed []operator.Argument
		for _, i := range operator.Passed(arguments, l) {
			passed = append(passed, arguments[i])
		}
		if wrong := launchMismatch(b, l.Entry, passed); wrong != "" {
			if len(k.Launches) > 1 {
				wrong = l.Entry + ": " + wrong
			}
			return wrong
		}
	}
	return ""
}

// launchMismatch is what mismatch says of one kernel and what it is given.
func launchMismatch(b *compile.Binary, entry string, arguments []operator.Argument) string {
	size, known := parametersOf(b.Code, b.Symbol(entry))
	wanted, scalars := argumentBytes(arguments)
	tensors := len(arguments) - scalars
	switch {
	case !known || size == wanted:
		return ""
	case scalars > 0:
		return fmt.Sprintf("the kernel's parameters take %s, the operator's %s and %s %d",
			output.Count(size, "byte"), output.Count(tensors, "tensor"), output.Count(scalars, "scalar"), wanted)
	case size%pointerBytes != 0:
		return fmt.Sprintf("the kernel's parameters take %s, the pointers of the operator's %s %d", output.Count(size, "byte"), output.Count(tensors, "tensor"), wanted)
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

// parametersOf is how many bytes the kernel's parameters take.
func parametersOf(code []byte, symbol string) (size int, known bool) {
	code = slices.Clone(code)
	if len(code) >= versionAt+4 {
		binary.LittleEndian.PutUint32(code[versionAt:], uint32(elf.EV_CURRENT))
	}
	file, err := elf.NewFile(bytes.NewReader(code))
	if err != nil {
		return 0, false
	}
	section := file.Section(infoSection + symbol)
	if section == nil {
		return 0, false
	}
	info, err := section.Data()
	if err != nil {
		return 0, false
	}
	for len(info) >= 4 {
		format, attribute, value := info[0], info[1], int(binary.LittleEndian.Uint16(info[2:]))
		if attribute == parameterSize && format != sizedFormat {
			return value, true
		}
		info = info[4:]
		if format == sizedFormat {
			info = info[min(value, len(info)):]
		}
	}
	return 0, false
}
