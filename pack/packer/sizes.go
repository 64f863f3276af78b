package packer

import (
	"fmt"

	"autotune/internal/cubin"
	"autotune/operator"
)

// sizesAt is the offset in a cubin of the values that its kernel reads when it runs. Loaders write a
// problem's values there, into a copy. So launches of different sizes never wait for one another, and a
// loader need not parse cubins.
func sizesAt(code []byte, sizes []operator.Size) (int64, error) {
	if len(sizes) == 0 {
		return 0, nil
	}
	for _, s := range sizes {
		if s.Type != operator.IntSize {
			return 0, fmt.Errorf("its kernel reads `%s` when it runs, which is not an integer; a pack's kernels read only integers", s.Name)
		}
	}
	return cubin.Variable(code, operator.SizesSymbol, 4*len(sizes))
}
