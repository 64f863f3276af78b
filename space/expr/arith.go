package expr

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
)

// The functions of this file compute on values as Python does. Where Python
// would raise they return a reason; the empty reason is success.

const (
	reasonZero     = "division by zero"
	reasonModulo   = "modulo by zero"
	reasonOverflow = "the result does not fit an int of 64 bits"
)

// exact is the largest magnitude below which every int is a float.
const exact = 1 << 53

// unordered is what compare returns for a NaN.
const unordered = 2

func equal(a, b Value) bool {
	if a.kind == KindString || b.kind == KindString {
		return a.kind == b.kind && a.text == b.text
	}
	order, ok := compare(a, b)
	return ok && order == 0
}

// compare orders two numbers or two strings; ok is false for a mixture.
func compare(a, b Value) (order int, ok bool) {
	switch {
	case a.integral() && b.integral():
		return cmp.Compare(a.int(), b.int()), true
	case a.kind == KindString && b.kind == KindString:
		return strings.Compare(a.text, b.text), true
	case a.kind == KindFloat && b.kind == KindFloat:
		return compareFloats(a.float(), b.float()), true
	case a.integral() && b.kind == KindFloat:
		return compareMixed(a.int(), b.float()), true
	case a.kind == KindFloat && b.integral():
		if o := compareMixed(b.int(), a.float()); o != unordered {
			return -o, true
		}
		return unordered, true
	}
	return 0, false
}

func compareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	}
	return unordered
}

// compareMixed compares exactly, as Python does, also where the int has more
// digits than a float holds.
func compareMixed(i int64, f float64) int {
	switch {
	case -exact <= i && i <= exact, math.IsNaN(f):
		return compareFloats(float64(i), f)
	case f >= math.MaxInt64:
		return -1
	case f < math.MinInt64:
		return 1
	}
	whole := math.Trunc(f)
	if o := cmp.Compare(i, int64(whole)); o != 0 {
		return o
	}
	return compareFloats(0, f-whole)
}

func addInts(a, b int64) (int64, bool) {
	c := a + b
	return c, (a^c)&(b^c) >= 0
}

func subInts(a, b int64) (int64, bool) {
	c := a - b
	return c, (a^b)&(a^c) >= 0
}

func mulInts(a, b int64) (int64, bool) {
	if int64(int32(a)) == a && int64(int32(b)) == b {
		return a * b, true
	}
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	high := int64(hi)
	if a < 0 {
		high -= b
	}
	if b < 0 {
		high -= a
	}
	return int64(lo), high == int64(lo)>>63
}

// FloorDivInts needs b != 0; MinInt64 // -1 is the one quotient that overflows.
func FloorDivInts(a, b int64) (int64, bool) {
	if b == -1 {
		return -a, a != math.MinInt64
	}
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q, true
}

func FloorModInts(a, b int64) int64 {
	if b == -1 {
		return 0
	}
	m := a % b
	if m != 0 && (m < 0) != (b < 0) {
		m += b
	}
	return m
}

// CeilDivInts needs b != 0.
func CeilDivInts(a, b int64) (int64, bool) {
	if b == -1 {
		return -a, a != math.MinInt64
	}
	q := a / b
	if a%b != 0 && (a < 0) == (b < 0) {
		q++
	}
	return q, true
}

// divInts divides truly and needs b != 0.
func divInts(a, b int64) float64 {
	if -exact <= a && a <= exact && -exact <= b && b <= exact {
		return float64(a) / float64(b)
	}
	f, _ := new(big.Rat).SetFrac(big.NewInt(a), big.NewInt(b)).Float64()
	return f
}

func PowInts(base, exp int64) (int64, bool) {
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

// FloorMod follows Python: the result has the sign of b. It needs b != 0.
func FloorMod(a, b float64) float64 {
	m := math.Mod(a, b)
	switch {
	case m == 0:
		return math.Copysign(0, b)
	case (m < 0) != (b < 0):
		return m + b
	}
	return m
}

// FloorDiv follows Python's float division: the quotient belongs to FloorMod's
// remainder, which a plain Floor(a/b) does not always.
func FloorDiv(a, b float64) float64 {
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

func powFloats(a, b float64) (float64, string) {
	if a == 0 && b < 0 {
		return 0, "zero cannot be raised to a negative power"
	}
	f := math.Pow(a, b)
	switch {
	case math.IsNaN(f) && !math.IsNaN(a) && !math.IsNaN(b):
		return 0, "a negative number has no real fractional power"
	case math.IsInf(f, 0) && !math.IsInf(a, 0) && !math.IsInf(b, 0):
		return 0, "the power is too large for a float"
	}
	return f, ""
}

// binary computes a op b for the arithmetic operators.
func binary(op Op, a, b Value) (Value, string) {
	if a.integral() && b.integral() {
		return binaryInts(op, a.int(), b.int())
	}
	x, okX := a.AsFloat()
	y, okY := b.AsFloat()
	if !okX || !okY {
		return Value{}, "'" + op.String() + "' takes numbers, not " + a.kind.String() + " and " + b.kind.String()
	}
	f, reason := binaryFloats(op, x, y)
	return Float(f), reason
}

func binaryInts(op Op, a, b int64) (Value, string) {
	var c int64
	ok := true
	switch op {
	case OpAdd:
		c, ok = addInts(a, b)
	case OpSub:
		c, ok = subInts(a, b)
	case OpMul:
		c, ok = mulInts(a, b)
	case OpPow:
		if b < 0 {
			f, reason := powFloats(float64(a), float64(b))
			return Float(f), reason
		}
		c, ok = PowInts(a, b)
	case OpMod:
		if b == 0 {
			return Value{}, reasonModulo
		}
		c = FloorModInts(a, b)
	default:
		if b == 0 {
			return Value{}, reasonZero
		}
		if op == OpDiv {
			return Float(divInts(a, b)), ""
		}
		c, ok = FloorDivInts(a, b)
	}
	if !ok {
		return Value{}, reasonOverflow
	}
	return Int(c), ""
}

func binaryFloats(op Op, x, y float64) (float64, string) {
	switch op {
	case OpAdd:
		return x + y, ""
	case OpSub:
		return x - y, ""
	case OpMul:
		return x * y, ""
	case OpPow:
		return powFloats(x, y)
	case OpMod:
		if y == 0 {
			return 0, reasonModulo
		}
		return FloorMod(x, y), ""
	}
	switch {
	case y == 0:
		return 0, reasonZero
	case op == OpDiv:
		return x / y, ""
	}
	return FloorDiv(x, y), ""
}

func negate(v Value) (Value, string) {
	switch {
	case v.integral():
		if v.int() == math.MinInt64 {
			return Value{}, reasonOverflow
		}
		return Int(-v.int()), ""
	case v.kind == KindFloat:
		return Float(-v.float()), ""
	}
	return Value{}, "'-' takes a number, not " + v.kind.String()
}

func plus(v Value) (Value, string) {
	switch {
	case v.integral():
		return Int(v.int()), ""
	case v.kind == KindFloat:
		return v, ""
	}
	return Value{}, "'+' takes a number, not " + v.kind.String()
}

func toInt(v Value) (Value, string) {
	switch {
	case v.integral():
		return Int(v.int()), ""
	case v.kind == KindFloat:
		i, reason := truncate(v.float())
		return Int(i), reason
	}
	return Value{}, "int() takes a number, not " + v.kind.String()
}

func truncate(f float64) (int64, string) {
	switch {
	case math.IsNaN(f), math.IsInf(f, 0):
		return 0, "int() cannot hold " + strings.ToLower(strings.TrimPrefix(formatFloat(f), "+"))
	case f >= math.MaxInt64, f < math.MinInt64:
		return 0, reasonOverflow
	}
	return int64(f), ""
}

func toFloat(v Value) (Value, string) {
	f, ok := v.AsFloat()
	if !ok {
		return Value{}, "float() takes a number, not " + v.kind.String()
	}
	return Float(f), ""
}

func absolute(v Value) (Value, string) {
	switch {
	case v.integral() && v.int() < 0:
		return negate(v)
	case v.integral():
		return Int(v.int()), ""
	case v.kind == KindFloat:
		return Float(math.Abs(v.float())), ""
	}
	return Value{}, "abs() takes a number, not " + v.kind.String()
}

func roundToInt(v Value) (Value, string) {
	if v.kind == KindFloat {
		i, reason := truncate(math.RoundToEven(v.float()))
		return Int(i), reason
	}
	return toInt(v)
}

// roundTo rounds to digits after the point, exactly half to even.
func roundTo(v, digits Value) (Value, string) {
	if !digits.integral() || digits.int() < 0 || digits.int() > 300 {
		return Value{}, "round() takes 0 to 300 digits"
	}
	if v.kind != KindFloat {
		return toInt(v)
	}
	f, err := strconv.ParseFloat(strconv.FormatFloat(v.float(), 'f', int(digits.int()), 64), 64)
	if err != nil {
		return v, ""
	}
	return Float(f), ""
}

func ceilDiv(a, b Value) (Value, string) {
	if a.integral() && b.integral() {
		if b.int() == 0 {
			return Value{}, reasonZero
		}
		q, ok := CeilDivInts(a.int(), b.int())
		if !ok {
			return Value{}, reasonOverflow
		}
		return Int(q), ""
	}
	x, okX := a.AsFloat()
	y, okY := b.AsFloat()
	switch {
	case !okX || !okY:
		return Value{}, "ceil_div() takes numbers, not " + a.kind.String() + " and " + b.kind.String()
	case y == 0:
		return Value{}, reasonZero
	}
	x = -x
	if a.integral() {
		x += 0 // an int has no negative zero
	}
	return Float(-FloorDiv(x, y)), ""
}
