// Package cubin reads what NVIDIA's compilers say of kernels in the files that they make.
package cubin

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// versionAt is where ELF's header has its version, and a cubin that of its toolkit.
const versionAt = 20

// Open reads a cubin as the ELF file that it is but for its version.
func Open(code []byte) (*elf.File, error) {
	plain := slices.Clone(code)
	if len(plain) >= versionAt+4 {
		binary.LittleEndian.PutUint32(plain[versionAt:], uint32(elf.EV_CURRENT))
	}
	return elf.NewFile(bytes.NewReader(plain))
}

// A cubin says of each kernel what it needs, as a list of attributes in a section of the
// kernel's own. Each has a format, a number and 16 bits, which are the value, or the size of
// the value that follows.
const (
	textSection = ".text."
	infoSection = ".nv.info."
	sizedFormat = 4
)

// The numbers of attributes.
const (
	ParameterSize = 0x19 // of 16 bits
	exits         = 0x1c // where the kernel ends, 4 bytes each
	together      = 0x28 // where the lanes of a warp act together, 4 bytes each
)

// Attributes are a kernel's, with their values; of those that have 16 bits alone these.
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

// Notes are what a cubin tells of its kernels without a disassembler.
type Notes struct {
	Instructions int // without those that fill up at the end
	Exits        int
	Together     int // that the lanes of a warp execute together: shuffles, votes, barriers of a warp
}

// Since Volta an instruction has 16 bytes, and one that does nothing is known by its first bits.
const (
	instructionBytes = 16
	opcodeMask       = 0xfff
	nop              = 0x918
)

// ReadNotes adds up the notes of all kernels in a cubin.
func ReadNotes(code []byte) (n Notes, err error) {
	file, err := Open(code)
	if err != nil {
		return n, fmt.Errorf("the compiler's file is no cubin: %w", err)
	}
	if file.Machine != elf.EM_CUDA {
		return n, fmt.Errorf("the compiler's file is for %s, not for a GPU", file.Machine)
	}
	for _, s := range file.Sections {
		kernel, is := strings.CutPrefix(s.Name, textSection)
		if !is || s.Type == elf.SHT_NOBITS {
			continue
		}
		text, err := s.Data()
		if err != nil {
			return n, fmt.Errorf("the code of %s: %w", kernel, err)
		}
		n.Instructions += instructions(text)
		for attribute, value := range Attributes(file, kernel) {
			switch attribute {
			case exits:
				n.Exits += len(value) / 4
			case together:
				n.Together += len(value) / 4
			}
		}
	}
	return n, nil
}

// instructions counts those of a kernel, but for the jump to itself and the nothing that follow its end.
func instructions(text []byte) int {
	count := len(text) / instructionBytes
	filled := false
	for ; count > 0 && binary.LittleEndian.Uint16(text[(count-1)*instructionBytes:])&opcodeMask == nop; count-- {
		filled = true
	}
	if filled && count > 0 {
		count--
	}
	return count
}
