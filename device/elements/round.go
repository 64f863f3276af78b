package elements

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"autotune/operator"
)

// Round returns the bits of the nearest number of a type of at most 16 bits, ties to even, as element_encode does.
func Round(t operator.Type, value float32) uint16 {
	mantissa, exponent := format(t)
	bias := 1<<(exponent-1) - 1
	greatest := uint16(1<<exponent-1) << mantissa // infinity
	if t == operator.F8E4M3 {
		greatest = 0x7e // 448
	}
	sign := uint16(math.Float32bits(value) >> 31 << (mantissa + exponent))
	switch {
	case value != value:
		return 1<<(mantissa+exponent) - 1
	case value == 0:
		return sign
	}
	_, power := math.Frexp(float64(value))
	power = max(power-1, 1-bias) // the exponent of the last mantissa bit
	places := math.RoundToEven(math.Ldexp(math.Abs(float64(value)), mantissa-power))
	bits := uint64(min(places, 1<<32)) + uint64(power+bias-1)<<mantissa
	return sign | uint16(min(bits, uint64(greatest)))
}

// format returns the number of mantissa bits and of exponent bits of a small floating type.
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

// Text formats an element, given its bits, for messages.
func Text(t operator.Type, bits uint64) string {
	switch {
	case t == operator.Bool && bits <= 1:
		return strconv.FormatBool(bits == 1)
	case t.Kind() == operator.Signed:
		return strconv.FormatInt(integer(t, bits), 10)
	case t.Kind() == operator.Unsigned:
		return strconv.FormatUint(bits, 10)
	case t == operator.F64:
		return fmt.Sprintf("%g", math.Float64frombits(bits))
	}
	return fmt.Sprintf("%g", single(t, uint32(bits)))
}

// single returns the value of an element of a floating type of 32 bits or fewer, given its bits.
func single(t operator.Type, bits uint32) float32 {
	if t == operator.F32 {
		return math.Float32frombits(bits)
	}
	mantissa, exponent := format(t)
	top := uint32(1)<<exponent - 1
	sign := 1 - float64(bits>>(exponent+mantissa)&1)*2
	power, places := bits>>mantissa&top, bits&(1<<mantissa-1)
	infinite := power == top && t != operator.F8E4M3 // F8E4M3 has numbers where other types have infinities
	switch {
	case infinite && places != 0 || t == operator.F8E4M3 && bits&0x7f == 0x7f:
		return float32(math.NaN())
	case infinite:
		return float32(math.Inf(int(sign)))
	case power == 0:
		power = 1
	default:
		places |= 1 << mantissa
	}
	bias := 1<<(exponent-1) - 1
	return float32(sign * math.Ldexp(float64(places), int(power)-bias-mantissa))
}
