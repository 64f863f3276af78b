package expr

import (
	"cmp"
	"math"
	"strings"
)

// This file contains the arithmetic of numbers where Python differs from Go. The functions on ints in this file return
// false if the result does not fit 64 bits. The callers of division functions make sure that no divisor is zero.

// exact is the limit up to which a float64 represents every integer exactly.
const exact = 1 << 53

// unordered is what compare returns for a NaN.
const unordered = 2

// compare orders two numbers or two strings; ok is false for a number and a string.
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

// compareExactly orders two numbers that are equal after conversion to floats; ints that differ may become equal,
// because an int may have more digits than a float64 holds. An operand that is still a float after Canonical is 2^63,
// which is greater than every int64.
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

// floorDivInts rounds the quotient down. The division of MinInt64 by -1 is the only integer division that overflows.
func floorDivInts(a, b int64) (int64, bool) {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q, b != -1 || a != math.MinInt64
}

// ceilDivInts rounds the quotient up.
func ceilDivInts(a, b int64) (int64, bool) {
	q, ok := floorDivInts(a, b)
	if a%b != 0 {
		q++
	}
	return q, ok
}

// modInts returns the remainder of floorDivInts, which has the sign of b.
func modInts(a, b int64) (int64, bool) {
	m := a % b
	if m != 0 && (m < 0) != (b < 0) {
		m += b
	}
	return m, true
}

// powInts computes base to the power exp, which must not be negative.
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

// gcdInts follows Python's math.gcd: the result is never negative, and gcdInts(0, 0) is 0.
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

// truncate rounds a float towards zero and returns an int, or fails if the int does not fit.
func truncate(f float64) Value {
	switch {
	case math.IsNaN(f), math.IsInf(f, 0):
		return failed("int() cannot hold " + strings.ToLower(strings.TrimPrefix(formatFloat(f), "+")))
	case f >= math.MaxInt64, f < math.MinInt64:
		return failed(overflow)
	}
	return Int(int64(f))
}

func sameFloat(a, _ float64) float64 { return a }
func mulFloats(a, b float64) float64 { return a * b }
func divFloats(a, b float64) float64 { return a / b }

// floorMod follows Python's % on floats: the result has the sign of b.
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

// floorDiv follows Python's // on floats: unlike Floor(a/b), the quotient agrees with the remainder of floorMod.
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
