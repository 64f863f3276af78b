package packer

import (
	"debug/elf"
	"fmt"

	"autotune/internal/cubin"
	"autotune/tuner/operator"
)

// sizesAt is where in a cubin the values lie that its kernel reads when it runs. Loaders write
// others there, into a copy: so launches of different sizes never wait for one another, and a
// loader needs to know nothing of how a cubin is made.
func sizesAt(code []byte, sizes []operator.Size) (int64, error) {
	if len(sizes) == 0 {
		return 0, nil
	}
	for _, s := range sizes {
		if s.Type != "int" {
			return 0, fmt.Errorf("its kernel reads `%s` when it runs, which is no integer; a pack's kernels read integers alone", s.Name)
		}
	}
	file, err := cubin.Open(code)
	if err != nil {
		return 0, fmt.Errorf("the compiler's file is no cubin: %w", err)
	}
	symbols, err := file.Symbols()
	if err != nil {
		return 0, fmt.Errorf("the compiler's file names nothing: %w", err)
	}
	want := 4 * uint64(len(sizes))
	for _, s := range symbols {
		if s.Name != operator.SizesSymbol || int(s.Section) >= len(file.Sections) {
			continue
		}
		in := file.Sections[s.Section]
		within := s.Value - in.Addr
		if in.Type == elf.SHT_NOBITS || s.Size != want || within > in.Size || in.Size-within < want || in.Offset > uint64(len(code)) || uint64(len(code))-in.Offset < within+want {
			return 0, fmt.Errorf("%s has %d bytes in the section %s, where %d were expected", s.Name, s.Size, in.Name, want)
		}
		return int64(in.Offset + within), nil
	}
	return 0, fmt.Errorf("the compiler's file has no %s", operator.SizesSymbol)
}
