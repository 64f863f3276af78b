package cuda

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"testing"

	"autotune/internal/cubin"
)

// leastCubin makes the smallest binary that ParameterBytes can read: an ELF header, the kernel's attributes, and the
// section headers that locate them.
func leastCubin(f *testing.F, attributes []byte) []byte {
	const names = "\x00.nv.info.k\x00.shstrtab\x00"
	header := elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_EXEC), Machine: uint16(elf.EM_CUDA), Version: 130, Ehsize: 64, Shentsize: 64, Shnum: 3, Shstrndx: 2,
	}
	header.Shoff = uint64(64 + len(attributes) + len(names))
	var b bytes.Buffer
	for _, part := range []any{header, attributes, []byte(names), elf.Section64{},
		elf.Section64{Name: 1, Type: uint32(elf.SHT_LOPROC), Off: 64, Size: uint64(len(attributes))},
		elf.Section64{Name: 12, Type: uint32(elf.SHT_STRTAB), Off: 64 + uint64(len(attributes)), Size: uint64(len(names))},
	} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			f.Fatal(err)
		}
	}
	return b.Bytes()
}

// Whatever bytes a binary contains, ParameterBytes returns a size or reports that the size is unknown.
func FuzzParameters(f *testing.F) {
	whole := leastCubin(f, []byte{4, 0x17, 4, 0, 1, 2, 3, 4, 3, cubin.ParameterSize, 16, 0})
	if size, known := Driver().ParameterBytes(whole, "k"); size != 16 || !known {
		f.Fatalf("got %d, %v", size, known)
	}
	f.Add(whole)
	f.Add(leastCubin(f, []byte{4, cubin.ParameterSize, 0xff, 0xff, 1}))
	f.Add(whole[:70])
	f.Fuzz(func(t *testing.T, code []byte) {
		before := bytes.Clone(code)
		if size, known := Driver().ParameterBytes(code, "k"); size < 0 || size > 1<<16 || !known && size != 0 {
			t.Errorf("%d bytes, %v", size, known)
		}
		if !bytes.Equal(before, code) {
			t.Error("the binary was changed")
		}
	})
}
