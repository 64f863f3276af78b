package cuda

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"slices"
)

// A cubin says of each kernel what its parameters take, as a list of attributes in
// a section of the kernel's own. Each has a format, a number and 16 bits, which are
// the value, or the size of the value that follows.
const (
	infoSection   = ".nv.info."
	sizedFormat   = 4
	parameterSize = 0x19 // of 16 bits
)

const versionAt = 20 // of ELF's header, where a cubin has its toolkit's version

// ParameterBytes is how many bytes the kernel's parameters take.
func (driver) ParameterBytes(code []byte, symbol string) (size int, known bool) {
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
