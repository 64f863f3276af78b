package elements

import (
	"encoding/binary"
	"math"

	"autotune/operator"
)

// Difference is the result of comparing a tensor with the right one.
type Difference struct {
	Largest float64 // largest difference of elements that are both finite
	Wrong   int64   // number of elements that are out of tolerance
	First   int64   // index of the first wrong element
}

// Compare compares all elements of two tensors by the rule of element_close in elements.h.
func Compare(t operator.Type, atol, rtol float64, got, want []byte) (d Difference) {
	size := int(t.Bytes())
	for at := 0; at < len(got); at += size {
		a, b := bitsAt(got, at, size), bitsAt(want, at, size)
		apart, right := close(t, atol, rtol, a, b)
		d.Largest = max(d.Largest, apart)
		if right {
			continue
		}
		if d.Wrong == 0 {
			d.First = int64(at / size)
		}
		d.Wrong++
	}
	return d
}

// close returns the difference of two elements, or -1 if one is not finite, and whether it is within tolerance.
func close(t operator.Type, atol, rtol float64, got, want uint64) (apart float64, right bool) {
	if t.Kind() != operator.Floating {
		if got == want {
			return 0, true
		}
		a, b := integer(t, got), integer(t, want)
		greater, less := max(a, b), min(a, b)
		apart, size := float64(uint64(greater)-uint64(less)), math.Abs(float64(b))
		if t == operator.U64 {
			apart, size = float64(max(got, want)-min(got, want)), float64(want)
		}
		return apart, apart <= atol+rtol*size
	}
	a, b := Number(t, got), Number(t, want)
	switch {
	case a == b:
		return 0, true
	case a != a && b != b:
		return 0, got != Poison(t)
	}
	apart = math.Abs(a - b)
	if !(apart <= math.MaxFloat64) {
		return -1, false
	}
	return apart, apart <= atol+rtol*math.Abs(b)
}

// Number returns the value of an element of a floating type, given its bits.
func Number(t operator.Type, bits uint64) float64 {
	switch t {
	case operator.F64:
		return math.Float64frombits(bits)
	case operator.F32:
		return float64(math.Float32frombits(uint32(bits)))
	}
	return float64(single(t, uint32(bits)))
}

// integer returns the value of an element of an integer type; an unsigned 64-bit number keeps its bits.
func integer(t operator.Type, bits uint64) int64 {
	if unused := 64 - 8*t.Bytes(); t.Kind() == operator.Signed {
		return int64(bits<<unused) >> unused
	}
	return int64(bits)
}

func Bits(t operator.Type, contents []byte, element int64) uint64 {
	size := int(t.Bytes())
	return bitsAt(contents, int(element)*size, size)
}

func bitsAt(contents []byte, at, size int) uint64 {
	switch size {
	case 8:
		return binary.LittleEndian.Uint64(contents[at:])
	case 4:
		return uint64(binary.LittleEndian.Uint32(contents[at:]))
	case 2:
		return uint64(binary.LittleEndian.Uint16(contents[at:]))
	}
	return uint64(contents[at])
}

func Largest(t operator.Type, contents []byte) (largest float64) {
	size := int(t.Bytes())
	for at := 0; at < len(contents); at += size {
		if x := math.Abs(Number(t, bitsAt(contents, at, size))); x > largest && !math.IsInf(x, 1) {
			largest = x
		}
	}
	return largest
}
