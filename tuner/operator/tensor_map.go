package operator

import "slices"

// TensorMap says that a launch passes an argument not as its address but as a tensor map (CUtensorMap): 128 bytes by
// value, that tell Hopper's copy engine where the tensor is and what a box of it is. The first eight bytes are the
// address. Words follow them, and behind those are zeros.
type TensorMap struct {
	At    int      `json:"at"` // index among the arguments that the launch passes
	Words [7]int64 `json:"words"`
}

// MapFormulas are a TensorMap whose words depend on free dimensions.
type MapFormulas struct {
	At    int
	Words [7]Formula
}

// MapAt gives the map that an argument is passed as, by its index among those passed. It is nil if the address is.
func (l Launch) MapAt(i int) *TensorMap {
	at := slices.IndexFunc(l.Maps, func(m TensorMap) bool { return m.At == i })
	if at < 0 {
		return nil
	}
	return &l.Maps[at]
}
