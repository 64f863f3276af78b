package cuda

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"

	"autotune/internal/output"
	"autotune/tuner/compile"
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

// mismatch says that a kernel does not take the pointers that it will be given; ""
// if it does, or if the binary does not tell. The driver would not: it reads what
// lies behind the pointers.
func mismatch(b *compile.Binary, tensors int) string {
	size, known := parametersOf(b)
	switch {
	case !known || size == tensors*pointerBytes:
		return ""
	case size%pointerBytes != 0:
		return fmt.Sprintf("the kernel's parameters take %s, the pointers of the operator's %s %d", output.Count(size, "byte"), output.Count(tensors, "tensor"), tensors*pointerBytes)
	}
	return fmt.Sprintf("the kernel takes %s, the operator has %s", output.Count(size/pointerBytes, "pointer"), output.Count(tensors, "tensor"))
}

// parametersOf is how many bytes the kernel's parameters take.
func parametersOf(b *compile.Binary) (size int, known bool) {
	code := slices.Clone(b.Code)
	if len(code) >= versionAt+4 {
		binary.LittleEndian.PutUint32(code[versionAt:], uint32(elf.EV_CURRENT))
	}
	file, err := elf.NewFile(bytes.NewReader(code))
	if err != nil {
		return 0, false
	}
	section := file.Section(infoSection + b.Entry)
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
