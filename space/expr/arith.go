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

// FloorDivInts rounds down and needs b != 0; MinInt64 // -1 is the one quotient
// that overflows.
func FloorDivInts(a, b int64) (int64, bool) {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q, b != -1 || a != math.MinInt64
}

// CeilDivInts is FloorDivInts but rounds up.
func CeilDivInts(a, b int64) (int64, bool) {
	q, ok := FloorDivInts(a, b)
	if a%b != 0 {
		q++
	}
	return q, ok
}

// FloorModInts is the remainder of FloorDivInts, with the sign of b.
func FloorModInts(a, b int64) int64 {
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

// PowInts needs exp >= 0; ok is false where the power does not fit.
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
		switch op {
		case OpDiv:
			return Float(divInts(a, b)), ""
		case OpFloorDiv:
			c, ok = FloorDivInts(a, b)
		case opCeilDiv:
			c, ok = CeilDivInts(a, b)
		}
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
	case op == opCeilDiv:
		return -FloorDiv(-x, y), ""
	}
	return FloorDiv(x, y), ""
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

// onNumber computes on an int (or a bool as one) or on a float.
func onNumber(what string, v Value, onInt func(int64) (int64, bool), onFloat func(float64) (Value, string)) (Value, string) {
	switch {
	case v.integral():
		i, ok := onInt(v.int())
		if !ok {
			return Value{}, reasonOverflow
		}
		return Int(i), ""
	case v.kind == KindFloat:
		return onFloat(v.float())
	}
	return Value{}, what + " takes a number, not " + v.kind.String()
}

func sameInt(i int64) (int64, bool)   { return i, true }
func negateInt(i int64) (int64, bool) { return -i, i != math.MinInt64 }
func absInt(i int64) (int64, bool) {
	if i < 0 {
		return negateInt(i)
	}
	return i, true
}

func sameFloat(f float64) (Value, string)   { return Float(f), "" }
func negateFloat(f float64) (Value, string) { return Float(-f), "" }
func absFloat(f float64) (Value, string)    { return Float(math.Abs(f)), "" }
func roundFloat(f float64) (Value, string)  { return truncate(math.RoundToEven(f)) }

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

// unary applies an operation or function of one operand.
func unary(n *Node, v Value) (Value, string) {
	switch {
	case n.Op == OpNeg:
		return onNumber("'-'", v, negateInt, negateFloat)
	case n.Op == OpPlus:
		return onNumber("'+'", v, sameInt, sameFloat)
	}
	switch n.Name {
	case "abs":
		return onNumber("abs()", v, absInt, absFloat)
	case "bool":
		return Bool(v.Truth()), ""
	case "float":
		if f, ok := v.AsFloat(); ok {
			return Float(f), ""
		}
		return Value{}, "float() takes a number, not " + v.kind.String()
	case "int":
		return onNumber("int()", v, sameInt, truncate)
	}
	return onNumber("round()", v, sameInt, roundFloat)
}

// roundTo rounds to digits after the point, exactly half to even.
func roundTo(v, digits Value) (Value, string) {
	if !digits.integral() || digits.int() < 0 || digits.int() > 300 {
		return Value{}, "round() takes 0 to 300 digits"
	}
	return onNumber("round()", v, sameInt, func(f float64) (Value, string) {
		rounded, err := strconv.ParseFloat(strconv.FormatFloat(f, 'f', int(digits.int()), 64), 64)
		if err != nil {
			return v, ""
		}
		return Float(rounded), ""
	})
}
