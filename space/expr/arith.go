package expr

import (
	"cmp"
	"math"
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
