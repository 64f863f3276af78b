package operator

import "slices"

// TensorMap says that a launch passes an argument not as its address but as a tensor map (CUtensorMap): 128 bytes by
// value, that tell Hopper's copy engine where the tensor is and what a box of it is. The first eight bytes are the
// address. Words follow them, and behind those are zeros.
type TensorMap struct {
	At    int      `json:"at"` // index among the arguments that the launch passes
	Words [7]int64 `json:"words"`
}

// TensorMapBytes is what a tensor map takes as a kernel's parameter, and TensorMapAlign what it is aligned to.
const TensorMapBytes, TensorMapAlign = 128, 64

// With is the map of a tensor at an address, in words of eight bytes.
func (m TensorMap) With(address uint64) []uint64 {
	words := make([]uint64, TensorMapBytes/8)
	words[0] = address
	for i, word := range m.Words {
		words[1+i] = uint64(word)
	}
	return words
}

// reach is how many bytes from the tensor's beginning on hold all elements that the map knows.
func (m TensorMap) reach() int64 {
	low := func(word int) int64 { return m.Words[word] & (1<<32 - 1) }
	high := func(word int) int64 { return int64(uint64(m.Words[word]) >> 32) }
	bytes := int64(2)
	if m.Words[0]>>7&15 == floatElement {
		bytes = 4
	}
	return (low(3)+1)*bytes + 16*(high(3)*high(0)+low(4)*low(1)+high(4)*high(1)+low(5)*low(2))
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
