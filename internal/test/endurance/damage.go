package endurance

import (
	"bytes"
	"fmt"
	"math/rand/v2"
)

// pageSize is that of the files that are damaged, and headSize where a page says
// what it holds.
const (
	pageSize = 4096
	headSize = 80
)

// Damage changes a copy of a file at a place and says how: every fourth time it is
// cut there, else a byte is another, every third time of these where a page
// says what it holds.
func Damage(raw []byte, rng *rand.Rand, n int) (bad []byte, what string) {
	at := rng.IntN(len(raw))
	switch n % 4 {
	case 0:
		return bytes.Clone(raw[:at]), fmt.Sprintf("cut after %d of %d bytes", at, len(raw))
	case 1:
		at = min(at/pageSize*pageSize+rng.IntN(headSize), len(raw)-1)
	}
	bad = bytes.Clone(raw)
	bad[at] ^= byte(1 << rng.IntN(8))
	return bad, fmt.Sprintf("byte %d is %#x instead of %#x", at, bad[at], raw[at])
}
