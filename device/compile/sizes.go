package compile

import (
	"encoding/binary"
	"slices"

	"autotune/internal/cubin"
	"autotune/operator"
)

// A kernel that reads its sizes when it runs is one code for all of them. So it is compiled once, with
// any, and the file gets those that are asked for.

// withSizes is a copy of a binary that has a kernel's sizes; not ok: it has no place for them.
func withSizes(b *Binary, sizes []operator.Size) (_ *Binary, ok bool) {
	const each = 4
	at, err := cubin.Variable(b.Code, operator.SizesSymbol, each*len(sizes))
	if err != nil {
		return nil, false
	}
	own := *b
	own.Code = slices.Clone(b.Code)
	for i, s := range sizes {
		n, _ := s.Value.AsInt()
		binary.LittleEndian.PutUint32(own.Code[at+int64(each*i):], uint32(n))
	}
	return &own, true
}
