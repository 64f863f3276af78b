package expr

import (
	"cmp"
	"math"
	"math/big"
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

// compareExactly orders two numbers whose floats are equal: an int may have
// more digits than a float holds. A float that is left stands for no int of 64
// bits; that it equals an int's float makes it 2^63, above all ints.
func compareExactly(a, b Value) int {
	if a.kind == KindInt && b.kind == KindInt {
		return cmp.Compare(a.int(), b.int())
	}
	return cmp.Compare(a.kind, b.kind)
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

// divides tells whether an operation needs a divisor, and so none of zero.
func (o Op) divides() bool { return o == OpDiv || o == OpFloorDiv || o == OpCeilDiv || o == OpMod }

// binary computes a op b.
func binary(op Op, a, b Value) (Value, string) {
	if op == OpGcd {
		return gcd(a, b)
	}
	if op == OpRound {
		return roundTo(a, b)
	}
	x, okX := a.AsFloat()
	y, okY := b.AsFloat()
	switch {
	case !okX || !okY:
		return Value{}, "'" + op.String() + "' takes numbers, not " + a.kind.String() + " and " + b.kind.String()
	case op.divides() && y == 0 && op == OpMod:
		return Value{}, reasonModulo
	case op.divides() && y == 0:
		return Value{}, reasonZero
	}
	ints := a.integral() && b.integral()
	switch {
	case op == OpPow && (!ints || y < 0):
		f, reason := powFloats(x, y)
		return Float(f), reason
	case op == OpDiv && ints:
		return Float(divInts(a.int(), b.int())), ""
	case ints:
		return checkedInt(op.Ints(a.int(), b.int()))
	}
	return Float(op.Floats(x, y)), ""
}

func checkedInt(i int64, ok bool) (Value, string) {
	if !ok {
		return Value{}, reasonOverflow
	}
	return Int(i), ""
}

// gcd is Python's math.gcd: never negative, and 0 of two zeros.
func gcd(a, b Value) (Value, string) {
	if !a.integral() || !b.integral() {
		return Value{}, "gcd() takes integers, not " + a.kind.String() + " and " + b.kind.String()
	}
	x, y := a.int(), b.int()
	for y != 0 {
		x, y = y, x%y
	}
	if x == math.MinInt64 {
		return Value{}, reasonOverflow
	}
	return Int(max(x, -x)), ""
}

// truncate makes an int of a float.
func truncate(f float64) (Value, string) {
	switch {
	case math.IsNaN(f), math.IsInf(f, 0):
		return Value{}, "int() cannot hold " + strings.ToLower(strings.TrimPrefix(formatFloat(f), "+"))
	case f >= math.MaxInt64, f < math.MinInt64:
		return Value{}, reasonOverflow
	}
	return Int(int64(f)), ""
}

// unary computes an operation or function of one operand.
func unary(op Op, v Value) (Value, string) {
	f, ok := v.AsFloat()
	switch {
	case op == OpBool:
		return Bool(v.Truth()), ""
	case !ok && op == OpNeg, !ok && op == OpPlus:
		return Value{}, "'" + op.String() + "' takes a number, not " + v.kind.String()
	case !ok:
		return Value{}, op.String() + "() takes a number, not " + v.kind.String()
	case op == OpFloat:
		return Float(f), ""
	case v.integral():
		return checkedInt(op.Ints(v.int(), 0))
	case op == OpInt || op == OpRound:
		return truncate(op.Floats(f, 0))
	}
	return Float(op.Floats(f, 0)), ""
}

// roundTo rounds to digits after the point, exactly half to even.
func roundTo(v, digits Value) (Value, string) {
	switch {
	case !digits.integral() || digits.int() < 0 || digits.int() > 300:
		return Value{}, "round() takes 0 to 300 digits"
	case v.kind != KindFloat:
		return unary(OpRound, v)
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v.float(), 'f', int(digits.int()), 64), 64)
	if err != nil {
		return v, ""
	}
	return Float(rounded), ""
}

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
