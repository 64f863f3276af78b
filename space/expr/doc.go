// Package expr evaluates expressions written in Python's own expression syntax: constraints of tuning spaces, derived
// sizes of operators, launch geometry, conditions.
//
// A value is an int of 64 bits, a float, a bool or a string, and behaves as Python's. `/` divides truly, `//` and `%`
// round down, and `**` with a negative exponent gives a float. Comparisons chain and short-circuit. `and` and `or`
// return one of their operands. True is 1. Where they differ: an int that leaves 64 bits is an error where Python would
// go on with a longer one. There are no complex numbers, and strings are only compared, not added or repeated.
//
//	e, err := expr.Parse("32 <= block_x * block_y <= 1024")
//	v, err := e.Eval(map[string]expr.Value{"block_x": expr.Int(32), "block_y": expr.Int(4)})
//
// Parse is strict and says in which column something is wrong and what would be right there. Eval takes names from a
// map. Substitute puts expressions in place of names, in the tree: an error still names the text that it stands in.
//
// There is one evaluator. A tree is compiled to a Program, whose instructions are computed one after another. Eval
// binds the names and runs it; package space puts all constraints of a template into one Program and runs the parts of
// it that each tunable settles. The table in operators.go has all that the language knows of an operation, bounds of
// its result included: a function is added there alone.
//
// A Dialect writes an expression in another language: C++ or Python.
//
// The functions are abs, bool, ceil_div, float, gcd, int, max, min and round.
// Tuples and lists stand only on the right of `in` and `not in`.
package expr
