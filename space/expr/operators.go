package expr

import (
	"math"
	"slices"
)

// operator is a row of the table of operators, with everything that the package knows about an operation. A function
// that is added to the table of operators can be parsed, evaluated, folded and used in a space.
type operator struct {
	name        string
	least, most int                                 // number of arguments of a function
	kind        Kind                                // of the result; KindNone: a float if an operand is one, otherwise an int
	divides     bool                                // the second operand must not be 0
	ints        func(a, b int64) (c int64, ok bool) // on ints and bools; false if the result does not fit 64 bits
	floats      func(a, b float64) float64          // on numbers of which at least one is a float
	numbers     func(a, b Value) Value              // instead of ints and floats
	values      func(a, b Value) Value              // instead of the other functions, for operands of any kind
	bounds      func(kind Kind, a, b Range) Range   // of the result; nil if no bounds are known
}

// operators is indexed by Op. A function of one operand is called with the operand as both of its arguments. An
// operation that fails returns failed(reason).
var operators = [...]operator{
	OpAdd: {name: "+", ints: addInts, floats: func(a, b float64) float64 { return a + b },
		bounds: func(_ Kind, a, b Range) Range { return Range{a.Lo + b.Lo, a.Hi + b.Hi} }},
	OpSub:      {name: "-", ints: subInts, floats: func(a, b float64) float64 { return a - b }},
	OpMul:      {name: "*", ints: mulInts, floats: mulFloats, bounds: corners(mulFloats)},
	OpDiv:      {name: "/", kind: KindFloat, divides: true, floats: divFloats, bounds: corners(divFloats)},
	OpFloorDiv: {name: "//", divides: true, ints: floorDivInts, floats: floorDiv, bounds: floorDivBounds},
	OpMod: {name: "%", divides: true, ints: modInts, floats: floorMod,
		bounds: func(_ Kind, _, b Range) Range { return Range{min(b.Lo, 0), max(b.Hi, 0)} }},
	OpPow:  {name: "**", ints: powInts, numbers: power, bounds: powerBounds},
	OpNeg:  {name: "-", ints: negInt, floats: func(a, _ float64) float64 { return -a }, bounds: negBounds},
	OpPlus: {name: "+", ints: sameInt, floats: sameFloat, bounds: sameBounds},

	OpNot: {name: "not", values: func(a, _ Value) Value { return Bool(!a.Truth()) }},
	OpAnd: {name: "and", values: func(a, b Value) Value { return Bool(a.Truth() && b.Truth()) }},
	OpOr:  {name: "or", values: either},
	OpIf:  {name: "if"},

	OpAbs: {name: "abs", least: 1, most: 1, ints: absInt, floats: func(a, _ float64) float64 { return math.Abs(a) },
		bounds: func(_ Kind, a, _ Range) Range { return Range{0, a.magnitude()} }},
	OpBool: {name: "bool", least: 1, most: 1, values: func(a, _ Value) Value { return Bool(a.Truth()) }},
	OpCeilDiv: {name: "ceil_div", least: 2, most: 2, divides: true, ints: ceilDivInts,
		floats: func(a, b float64) float64 { return -floorDiv(-a, b) }, bounds: ceilDivBounds},
	OpFloat: {name: "float", least: 1, most: 1, kind: KindFloat, floats: sameFloat, bounds: sameBounds},
	OpGcd:   {name: "gcd", least: 2, most: 2, ints: gcdInts, values: gcd, bounds: gcdBounds},
	OpInt:   whole("int", math.Trunc),
	OpRound: whole("round", math.RoundToEven),
	OpMax:   extreme("max", 1, math.Max),
	OpMin:   extreme("min", -1, math.Min),

	OpEq:     {name: "==", values: func(a, b Value) Value { return Bool(a.Equal(b)) }},
	OpNe:     {name: "!=", values: func(a, b Value) Value { return Bool(!a.Equal(b)) }},
	OpLt:     ordering("<", func(order int) bool { return order == -1 }),
	OpLe:     ordering("<=", func(order int) bool { return order == -1 || order == 0 }),
	opGt:     ordering(">", func(order int) bool { return order == 1 }),
	opGe:     ordering(">=", func(order int) bool { return order == 1 || order == 0 }),
	OpIn:     {name: "in"},
	opNotIn:  {name: "not in"},
	opEither: {values: either},

	opPick: {},
}

var functions = functionsByName()

func functionsByName() map[string]Op {
	byName := map[string]Op{}
	for op, row := range operators {
		if row.most > 0 {
			byName[row.name] = Op(op)
		}
	}
	return byName
}

func (o Op) String() string { return operators[o].name }

// failed returns the result of an operation that fails: a value without a kind, which contains the reason. The
// evaluator adds the position in the source text to the reason of a failed operation.
func failed(reason string) Value { return Value{text: reason} }

const overflow = "the result does not fit an int of 64 bits"

// If an operand has failed and the result depends on that operand, apply returns the failed operand.
func apply(op Op, left, right, third *Value) Value {
	row, a, b := &operators[op], *left, *right
	switch {
	case a.kind == KindNone:
		return a
	case op == OpIf && a.Truth():
		return b
	case op == OpIf:
		return *third
	case b.kind == KindNone:
		return b
	case row.values != nil:
		return row.values(a, b)
	}
	x, okX := a.AsFloat()
	y, okY := b.AsFloat()
	switch {
	case !okX || !okY:
		return failed(row.takes(op, a, b))
	case row.divides && y == 0 && op == OpMod:
		return failed("modulo by zero")
	case row.divides && y == 0:
		return failed("division by zero")
	case row.numbers != nil:
		return row.numbers(a, b)
	case row.ints != nil && a.integral() && b.integral():
		return checked(row.ints(a.int(), b.int()))
	case row.kind == KindInt:
		return truncate(row.floats(x, y))
	}
	return Float(row.floats(x, y))
}

// takes returns the error message for operands that are not numbers, which says what the operation accepts.
func (o *operator) takes(op Op, a, b Value) string {
	switch {
	case op == OpNeg || op == OpPlus:
		return "'" + o.name + "' takes a number, not " + a.kind.String()
	case o.most == 0 || o.least == 2:
		return "'" + o.name + "' takes numbers, not " + a.kind.String() + " and " + b.kind.String()
	}
	return o.name + "() takes a number, not " + a.kind.String()
}

func checked(i int64, ok bool) Value {
	if !ok {
		return failed(overflow)
	}
	return Int(i)
}

// Range bounds a number. The interval arithmetic is exact for ints below 2^53.
type Range struct{ Lo, Hi float64 }

// unbounded is the range of all numbers.
var unbounded = Range{math.Inf(-1), math.Inf(1)}

func (r Range) magnitude() float64       { return max(math.Abs(r.Lo), math.Abs(r.Hi)) }
func (r Range) has(x float64) bool       { return r.Lo <= x && x <= r.Hi }
func (r Range) union(o Range) Range      { return Range{min(r.Lo, o.Lo), max(r.Hi, o.Hi)} }
func (r Range) within(most float64) bool { return -most <= r.Lo && r.Hi <= most }

// corners returns a function for the bounds of an operation that reaches its least and greatest values at bounds of its
// operands.
func corners(f func(a, b float64) float64) func(Kind, Range, Range) Range {
	return func(_ Kind, a, b Range) Range {
		c := []float64{f(a.Lo, b.Lo), f(a.Lo, b.Hi), f(a.Hi, b.Lo), f(a.Hi, b.Hi)}
		return Range{slices.Min(c), slices.Max(c)}
	}
}

func floorDivBounds(kind Kind, a, b Range) Range {
	r := corners(func(a, b float64) float64 { return math.Floor(a / b) })(kind, a, b)
	if kind == KindFloat { // the quotient may have been rounded up to a whole number
		return Range{r.Lo - 1, r.Hi + 1}
	}
	return r
}

func ceilDivBounds(kind Kind, a, b Range) Range {
	if kind == KindFloat {
		return unbounded
	}
	return corners(func(a, b float64) float64 { return math.Ceil(a / b) })(kind, a, b)
}

// powerBounds returns bounds only for int bases and exponents that are not negative.
func powerBounds(kind Kind, a, b Range) Range {
	if kind == KindFloat || b.Lo < 0 {
		return unbounded
	}
	most := math.Pow(max(1, a.magnitude()), b.Hi)
	if a.Lo < 0 {
		return Range{-most, most}
	}
	return Range{0, most}
}

func gcdBounds(kind Kind, a, b Range) Range {
	if kind == KindFloat {
		return unbounded
	}
	return Range{0, max(a.magnitude(), b.magnitude())}
}

func sameBounds(_ Kind, a, _ Range) Range { return a }
func negBounds(_ Kind, a, _ Range) Range  { return Range{-a.Hi, -a.Lo} }

func whole(name string, toInt func(float64) float64) operator {
	return operator{name: name, least: 1, most: 1, kind: KindInt, ints: sameInt,
		floats: func(a, _ float64) float64 { return toInt(a) },
		bounds: func(_ Kind, a, _ Range) Range { return Range{toInt(a.Lo), toInt(a.Hi)} }}
}

// extreme describes the function min or max; if several arguments are equal, it returns the first of them.
func extreme(name string, sign int, pick func(a, b float64) float64) operator {
	values := func(a, b Value) Value {
		switch order, ok := compare(b, a); {
		case !ok:
			return failed(name + "() cannot compare " + b.kind.String() + " and " + a.kind.String())
		case order == sign:
			return b
		}
		return a
	}
	ints := func(a, b int64) (int64, bool) {
		if (a < b) == (sign > 0) {
			return b, true
		}
		return a, true
	}
	return operator{name: name, least: 2, most: 1 << 10, values: values, ints: ints,
		bounds: func(_ Kind, a, b Range) Range { return Range{pick(a.Lo, b.Lo), pick(a.Hi, b.Hi)} }}
}

func ordering(name string, holds func(order int) bool) operator {
	return operator{name: name, values: func(a, b Value) Value {
		order, ok := compare(a, b)
		if !ok {
			return failed("'" + name + "' cannot compare " + a.kind.String() + " and " + b.kind.String())
		}
		return Bool(holds(order))
	}}
}

func either(a, b Value) Value { return Bool(a.Truth() || b.Truth()) }
