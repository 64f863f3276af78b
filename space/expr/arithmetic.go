package expr

import (
	"cmp"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// This file has the arithmetic in which Python's numbers differ from Go's. Functions on
// ints return false where the result leaves 64 bits. No divisor is zero here.

// exact is the largest magnitude up to which every int is a float.
const exact = 1 << 53

// unordered is what compare returns for a NaN.
const unordered = 2

// compare orders two numbers or two strings; ok is false for a mixture.
func compare(a, b Value) (order int, ok bool) {
	switch {
	case a.integral() && b.integral():
		return cmp.Compare(a.int(), b.int()), true
	case a.kind == KindString && b.kind == KindString:
		return strings.Compare(a.text, b.text), true
	}
	x, okX := a.AsFloat()
	y, okY := b.AsFloat()
	switch {
	case !okX || !okY:
		return 0, false
	case x < y:
		return -1, true
	case x > y:
		return 1, true
	case x == y:
		return compareExactly(a.Canonical(), b.Canonical()), true
	}
	return unordered, true
}

// compareExactly orders two numbers whose floats are equal: an int may have more digits than a float holds. A float
// that is left stands for no int of 64 bits; that it equals an int's float makes it 2^63, above all ints.
func compareExactly(a, b Value) int {
	if a.kind == KindInt && b.kind == KindInt {
		return cmp.Compare(a.int(), b.int())
	}
	return cmp.Compare(a.kind, b.kind)
}

func sameInt(a, _ int64) (int64, bool) { return a, true }
func negInt(a, _ int64) (int64, bool)  { return -a, a != math.MinInt64 }
func absInt(a, _ int64) (int64, bool)  { return max(a, -a), a != math.MinInt64 }

func addInts(a, b int64) (int64, bool) {
	c := a + b
	return c, (a^c)&(b^c) >= 0
}

func subInts(a, b int64) (int64, bool) {
	c := a - b
	return c, (a^b)&(a^c) >= 0
}

func mulInts(a, b int64) (int64, bool) {
	c := a * b
	return c, a == 0 || c/a == b && (a != -1 || b != math.MinInt64)
}

// floorDivInts rounds down; MinInt64 // -1 is the one quotient that overflows.
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

// modInts is the remainder of floorDivInts, with the sign of b.
func modInts(a, b int64) (int64, bool) {
	m := a % b
	if m != 0 && (m < 0) != (b < 0) {
		m += b
	}
	return m, true
}

// powInts needs exp >= 0.
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

// gcdInts is Python's math.gcd: never negative, and 0 of two zeros.
func gcdInts(a, b int64) (int64, bool) {
	for b != 0 {
		a, b = b, a%b
	}
	return absInt(a, 0)
}

func gcd(a, b Value) Value {
	if !a.integral() || !b.integral() {
		return failed("gcd() takes integers, not " + a.kind.String() + " and " + b.kind.String())
	}
	return checked(gcdInts(a.int(), b.int()))
}

// divide divides truly, and ints exactly.
func divide(a, b Value) Value {
	x, _ := a.AsFloat()
	y, _ := b.AsFloat()
	if a.integral() && b.integral() && (math.Abs(x) >= exact || math.Abs(y) >= exact) {
		x, _ = new(big.Rat).SetFrac(big.NewInt(a.int()), big.NewInt(b.int())).Float64()
		return Float(x)
	}
	return Float(x / y)
}

func power(a, b Value) Value {
	x, _ := a.AsFloat()
	y, _ := b.AsFloat()
	switch {
	case a.integral() && b.integral() && y >= 0:
		return checked(powInts(a.int(), b.int()))
	case x == 0 && y < 0:
		return failed("zero cannot be raised to a negative power")
	}
	f := math.Pow(x, y)
	switch {
	case math.IsNaN(f) && !math.IsNaN(x) && !math.IsNaN(y):
		return failed("a negative number has no real fractional power")
	case math.IsInf(f, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0):
		return failed("the power is too large for a float")
	}
	return Float(f)
}

// truncate makes an int of a float that is whole.
func truncate(f float64) Value {
	switch {
	case math.IsNaN(f), math.IsInf(f, 0):
		return failed("int() cannot hold " + strings.ToLower(strings.TrimPrefix(formatFloat(f), "+")))
	case f >= math.MaxInt64, f < math.MinInt64:
		return failed(overflow)
	}
	return Int(int64(f))
}

// roundTo rounds to digits after the point, exactly half to even.
func roundTo(v, digits Value) Value {
	switch {
	case !digits.integral() || digits.int() < 0 || digits.int() > 300:
		return failed("round() takes 0 to 300 digits")
	case v.integral():
		return Int(v.int())
	case v.kind != KindFloat:
		return failed("round() takes a number, not " + v.kind.String())
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v.float(), 'f', int(digits.int()), 64), 64)
	if err != nil {
		return v
	}
	return Float(rounded)
}

func sameFloat(a, _ float64) float64 { return a }
func mulFloats(a, b float64) float64 { return a * b }
func divFloats(a, b float64) float64 { return a / b }

// floorMod follows Python: the result has the sign of b.
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
