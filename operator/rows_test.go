package operator_test

import (
	"slices"

	"autotune/operator"
)

// rowProblems are those that all operators of rows are proven on: rows that begin aligned and
// that do not, columns, and few that are long.
var rowProblems = []string{
	"5x1003x1 normal", // no two rows begin alike
	"3x2048x1 type=bf16 negative",
	"19x24x1 uniform01",
	"2x65x40 normal",
	"3x31x7 special",
	"2x12301x1 type=f16 normal",
	"1x196601x1 negative",
	"1x1536x264 type=bf16 normal",
}

// problemsOf are the problems that an operator's templates are proven on.
func problemsOf(o *operator.Operator) []string {
	if ofRows(o) {
		return rowProblems
	}
	return problems[o.Name]
}

// ofRows tells whether an operator takes the elements along a dimension together.
func ofRows(o *operator.Operator) bool {
	return slices.Equal(o.Shape, []string{"outer", "length", "inner"}) && problems[o.Name] == nil
}
