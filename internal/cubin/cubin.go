// Package cubin reads what NVIDIA's compilers record about kernels in the files that they make (cubins).
package cubin

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
)

// versionAt is the offset of the version in an ELF header. At versionAt, a cubin stores the version of its toolkit.
const versionAt = 20

// Open reads a cubin as an ELF file, after it replaces the toolkit's version in the header, which Go would refuse.
func Open(code []byte) (*elf.File, error) {
	plain := slices.Clone(code)
	if len(plain) >= versionAt+4 {
		binary.LittleEndian.PutUint32(plain[versionAt:], uint32(elf.EV_CURRENT))
	}
	return elf.NewFile(bytes.NewReader(plain))
}

// A cubin has a section of attributes for each kernel. Each attribute has a format, a number and 16 bits, which are its
// value or the size of the value that follows.
const (
	infoSection = ".nv.info."
	sizedFormat = 4
)

// ParameterSize is the number of the 16-bit attribute that holds the size of a kernel's parameters in bytes.
const ParameterSize = 0x19

// Attributes yields the attributes of a kernel: the number and the value of each.
func Attributes(file *elf.File, kernel string) iter.Seq2[byte, []byte] {
	return func(yield func(byte, []byte) bool) {
		section := file.Section(infoSection + kernel)
		if section == nil {
			return
		}
		info, err := section.Data()
		if err != nil {
			return
		}
		for len(info) >= 4 {
			attribute, value := info[1], info[2:4]
			sized := info[0] == sizedFormat
			info = info[4:]
			if sized {
				size := min(int(binary.LittleEndian.Uint16(value)), len(info))
				value, info = info[:size], info[size:]
			}
			if !yield(attribute, value) {
				return
			}
		}
	}
}

// Variable returns the offset of a variable's bytes in a cubin.
func Variable(code []byte, name string, bytes int) (at int64, err error) {
	file, err := Open(code)
	if err != nil {
		return 0, fmt.Errorf("the compiler's file is no cubin: %w", err)
	}
	symbols, err := file.Symbols()
	if err != nil {
		return 0, fmt.Errorf("the compiler's file names nothing: %w", err)
	}
	want := uint64(bytes)
	for _, s := range symbols {
		if s.Name != name || int(s.Section) >= len(file.Sections) {
			continue
		}
		in := file.Sections[s.Section]
		within := s.Value - in.Addr
		if in.Type == elf.SHT_NOBITS || s.Size != want || within > in.Size || in.Size-within < want || in.Offset > uint64(len(code)) || uint64(len(code))-in.Offset < within+want {
			return 0, fmt.Errorf("%s has %d bytes in the section %s, where %d were expected", s.Name, s.Size, in.Name, want)
		}
		return int64(in.Offset + within), nil
	}
	return 0, fmt.Errorf("the compiler's file has no %s", name)
}
