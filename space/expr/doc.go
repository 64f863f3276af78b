// Package expr evaluates expressions in Python's syntax: constraints of tuning spaces, derived sizes of operators,
// launch geometry, conditions.
//
// A value is a 64-bit int, a float, a bool or a string, and behaves as in Python. `/` divides truly, `//` and `%` round
// down, and `**` with a negative exponent returns a float. As in Python, a chain of comparisons such as a < b < c stops
// at the first false one. `and` and `or` return one of their operands. As in Python, the value True equals 1. Values
// differ from Python's in two points: an int that does not fit 64 bits is an error, and strings can only be compared,
// not added or repeated. Complex numbers are not supported.
//
//	e, err := expr.Parse("32 <= block_x * block_y <= 1024")
//	v, err := e.Eval(map[string]expr.Value{"block_x": expr.Int(32), "block_y": expr.Int(4)})
//
// Parse is strict: its error names the column of a mistake and how to correct it. Eval takes the values of names from a
// map. Substitute replaces names in a tree by expressions, and later errors still quote the source text of each
// expression.
//
// All evaluation uses one mechanism: a tree is compiled to a Program, whose instructions run one after another. Eval
// binds the names in an expression to their values and runs the expression's program. Package space compiles all
// constraints of a template to one Program, and runs the parts of the program that each tunable decides. The table in
// operators.go describes every operation, including bounds of its result; to add a function, add a row to this table.
//
// A Dialect writes an expression in another language: C++ or Python.
//
// Expressions can call the functions abs, bool, ceil_div, float, gcd, int, max, min and round. In expressions, tuples
// and lists are allowed only on the right of `in` and `not in`.
package expr
