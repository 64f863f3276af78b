package expr

import (
	"math"
	"math/big"
)

// This file says what operations compute on machine words. Expressions and the
// compiled checks of a space share it. Nothing here fails: ok is false where an int
// leaves 64 bits, and a divisor of zero is the caller's to refuse.

// Ints computes an operation on ints.
func (o Op) Ints(a, b int64) (c int64, ok bool) {
	switch o {
	case OpAdd:
		c = a + b
		return c, (a^c)&(b^c) >= 0
	case OpSub:
		c = a - b
		return c, (a^b)&(a^c) >= 0
	case OpMul:
		return mulInts(a, b)
	case OpFloorDiv:
		return floorDivInts(a, b)
	case OpCeilDiv:
		return ceilDivInts(a, b)
	case OpMod:
		return floorModInts(a, b), true
	case OpPow:
		return powInts(a, b)
	case OpNeg:
		return -a, a != math.MinInt64
	case OpAbs:
		return max(a, -a), a != math.MinInt64
	case OpMin:
		return min(a, b), true
	case OpMax:
		return max(a, b), true
	}
	return a, true // OpPlus, OpInt, OpRound
}

// Floats computes an operation on floats.
func (o Op) Floats(a, b float64) float64 {
	switch o {
	case OpAdd:
		return a + b
	case OpSub:
		return a - b
	case OpMul:
		return a * b
	case OpDiv:
		return a / b
	case OpFloorDiv:
		return floorDiv(a, b)
	case OpCeilDiv:
		return -floorDiv(-a, b)
	case OpMod:
		return floorMod(a, b)
	case OpNeg:
		return -a
	case OpAbs:
		return math.Abs(a)
	case OpInt:
		return math.Trunc(a)
	case OpRound:
		return math.RoundToEven(a)
	}
	return a // OpPlus, OpFloat
}

func mulInts(a, b int64) (int64, bool) {
	c := a * b
	return c, a == 0 || c/a == b && (a != -1 || b != math.MinInt64)
}

// floorDivInts rounds down and needs b != 0; MinInt64 // -1 is the one quotient
// that overflows.
func floorDivInts(a, b int64) (int64, bool) {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q, b != -1 || a != math.MinInt64
}

// ceilDivInts is floorDivInts but rounds up.
func ceilDivInts(a, b int64) (int64, bool) {
	q, ok := floorDivInts(a, b)
	if a%b != 0 {
		q++
	}
	return q, ok
}

// floorModInts is the remainder of floorDivInts, with the sign of b.
func floorModInts(a, b int64) int64 {
	m := a % b
	if m != 0 && (m < 0) != (b < 0) {
		m += b
	}
	return m
}

// divInts divides truly and needs b != 0.
func divInts(a, b int64) float64 {
	if -exact <= a && a <= exact && -exact <= b && b <= exact {
		return float64(a) / float64(b)
	}
	f, _ := new(big.Rat).SetFrac(big.NewInt(a), big.NewInt(b)).Float64()
	return f
}

// powInts needs exp >= 0; ok is false where the power does not fit.
func powInts(base, exp int64) (int64, bool) {
	result, ok := int64(1), true
	for {
		if exp&1 != 0 {
			if result, ok = mulInts(result, base); !ok {
				return 0, false
			}
		}
		if exp >>= 1; exp == 0 {
			return result, true
		}
		if base, ok = mulInts(base, base); !ok {
			return 0, false
		}
	}
}

// floorMod follows Python: the result has the sign of b. It needs b != 0.
func floorMod(a, b float64) float64 {
	m := math.Mod(a, b)
	switch {
	case m == 0:
		return math.Copysign(0, b)
	case (m < 0) != (b < 0):
		return m + b
	}
	return m
}

// floorDiv follows Python's float division: the quotient belongs to floorMod's
// remainder, which a plain Floor(a/b) does not always.
func floorDiv(a, b float64) float64 {
	m := math.Mod(a, b)
	q := (a - m) / b
	if m != 0 && (m < 0) != (b < 0) {
		q--
	}
	if q == 0 {
		return math.Copysign(0, a/b)
	}
	whole := math.Floor(q)
	if q-whole > 0.5 {
		whole++
	}
	return whole
}
