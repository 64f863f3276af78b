package elements

import (
	"fmt"
	"math"
	"strconv"

	"autotune/tuner/operator"
)

// Text writes an element, given its bits, as messages do.
func Text(t operator.Type, bits uint64) string {
	size := 8 * t.Bytes()
	switch {
	case t == operator.Bool && bits <= 1:
		return strconv.FormatBool(bits == 1)
	case t.Kind() == operator.Signed:
		return strconv.FormatInt(int64(bits<<(64-size))>>(64-size), 10)
	case t.Kind() == operator.Unsigned:
		return strconv.FormatUint(bits, 10)
	case t == operator.F64:
		return fmt.Sprintf("%g", math.Float64frombits(bits))
	}
	return fmt.Sprintf("%g", single(t, uint32(bits)))
}

// single is the number that a floating type of 32 bits or fewer has for some bits.
func single(t operator.Type, bits uint32) float32 {
	switch t {
	case operator.F32:
		return math.Float32frombits(bits)
	case operator.BF16:
		return math.Float32frombits(bits << 16)
	case operator.F16:
		return small(bits, 5, 10)
	case operator.F8E5M2:
		return small(bits, 5, 2)
	}
	if bits&0x7f == 0x7f { // f8e4m3 has numbers where others have infinities
		return float32(math.NaN())
	}
	return finite(bits, 4, 3)
}

// small reads a sign, exponent bits and mantissa bits, as IEEE 754 has them.
func small(bits uint32, exponent, mantissa int) float32 {
	top := uint32(1)<<exponent - 1
	switch {
	case bits>>mantissa&top < top:
		return finite(bits, exponent, mantissa)
	case bits&(1<<mantissa-1) != 0:
		return float32(math.NaN())
	}
	return float32(math.Inf(1 - int(bits>>(exponent+mantissa)&1)*2))
}

func finite(bits uint32, exponent, mantissa int) float32 {
	e, m := int(bits>>mantissa&(1<<exponent-1)), bits&(1<<mantissa-1)
	if e == 0 {
		e = 1
	} else {
		m |= 1 << mantissa
	}
	sign := 1 - float64(bits>>(exponent+mantissa)&1)*2
	bias := 1<<(exponent-1) - 1
	return float32(sign * math.Ldexp(float64(m), e-bias-mantissa))
}
