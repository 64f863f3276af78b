package elements

import (
	"encoding/binary"
	"math"

	"autotune/tuner/operator"
)

// Round is element_encode there for a type of 16 bits or fewer: the bits of the nearest
// number, ties to even.
func Round(t operator.Type, value float32) uint16 {
	mantissa, exponent := format(t)
	bias, top := 1<<(exponent-1)-1, uint64(1)<<exponent-1
	bits := math.Float64bits(float64(value))
	sign := bits >> 63 << (mantissa + exponent)
	if value != value {
		return uint16(top<<mantissa | (1<<mantissa - 1))
	}
	greatest := top << mantissa // infinity
	if t == operator.F8E4M3 {
		greatest = 0x7e // 448
	}
	power := int(bits>>52&0x7ff) - 1023
	if power > bias+1 {
		return uint16(sign | greatest)
	}
	drop := 52 - mantissa // bits that have no place
	if power < 1-bias {
		drop += 1 - bias - power
	}
	if drop > 54 {
		return uint16(sign)
	}
	full := bits&(1<<52-1) | 1<<52
	kept, rest, half := full>>drop, full&(1<<drop-1), uint64(1)<<(drop-1)
	if rest > half || rest == half && kept&1 == 1 {
		kept++
	}
	if power >= 1-bias {
		kept += uint64(power+bias-1) << mantissa
	}
	return uint16(sign | min(kept, greatest))
}

// format gives the mantissa's and the exponent's bits of a small floating type.
func format(t operator.Type) (mantissa, exponent int) {
	switch t {
	case operator.F16:
		return 10, 5
	case operator.BF16:
		return 7, 8
	case operator.F8E4M3:
		return 3, 4
	}
	return 2, 5
}

// Narrow makes elements of a small floating type from as many of f32.
func Narrow(t operator.Type, from []byte) []byte {
	size := int(t.Bytes())
	to := make([]byte, 0, len(from)/4*size)
	for ; len(from) >= 4; from = from[4:] {
		bits := Round(t, math.Float32frombits(binary.LittleEndian.Uint32(from)))
		to = append(to, byte(bits))
		if size == 2 {
			to = append(to, byte(bits>>8))
		}
	}
	return to
}

// Widen makes elements of f32 from as many of a small floating type.
func Widen(t operator.Type, from []byte) []byte {
	size := int(t.Bytes())
	to := make([]byte, 0, 4*len(from)/size)
	for ; len(from) >= size; from = from[size:] {
		bits := uint32(from[0])
		if size == 2 {
			bits |= uint32(from[1]) << 8
		}
		to = binary.LittleEndian.AppendUint32(to, math.Float32bits(single(t, bits)))
	}
	return to
}
