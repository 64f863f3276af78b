package packer

import (
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
		if s.Type != operator.IntSize {
			return 0, fmt.Errorf("its kernel reads `%s` when it runs, which is no integer; a pack's kernels read integers alone", s.Name)
		}
	}
	return cubin.Variable(code, operator.SizesSymbol, 4*len(sizes))
}
