package cubin

import (
	"debug/elf"
	"fmt"
)

// Variable is where in a cubin the bytes of a variable lie.
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
