package space

// numbers counts distinct things, which lie elsewhere, and finds the number of
// one by its hash: a hash table with open addressing.
type numbers struct {
	slots  []uint32 // 1 + a number, or 0
	hashes []uint64 // by number
}

func newNumbers(expected int) *numbers {
	size := 64
	for size < 2*expected {
		size *= 2
	}
	return &numbers{slots: make([]uint32, size)}
}

func (x *numbers) len() int { return len(x.hashes) }

// of returns the number of the thing with a hash that same recognises by its
// number, or the next number if there is none.
func (x *numbers) of(hash uint64, same func(uint32) bool) (n uint32, isNew bool) {
	mask := uint64(len(x.slots) - 1)
	at := hash & mask
	for ; x.slots[at] != 0; at = (at + 1) & mask {
		if n := x.slots[at] - 1; x.hashes[n] == hash && same(n) {
			return n, false
		}
	}
	x.hashes = append(x.hashes, hash)
	x.slots[at] = uint32(len(x.hashes))
	if 2*len(x.hashes) > len(x.slots) {
		x.grow()
	}
	return uint32(len(x.hashes) - 1), true
}

func (x *numbers) grow() {
	x.slots = make([]uint32, 2*len(x.slots))
	mask := uint64(len(x.slots) - 1)
	for n, hash := range x.hashes {
		at := hash & mask
		for x.slots[at] != 0 {
			at = (at + 1) & mask
		}
		x.slots[at] = uint32(n) + 1
	}
}

// mix takes one more word into a hash.
func mix(hash, word uint64) uint64 {
	hash = (hash ^ word) * 0x9e3779b97f4a7c15
	return hash ^ hash>>32
}
