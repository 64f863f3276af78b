package device

import (
	"cmp"
	"fmt"
)

// ReferenceError means that an operator cannot say what is right: its reference does
// not compile, fails, does not end, or gives what no variant can be held against; or
// what it fills or compares tensors with does. The operator is to blame, not the
// device.
type ReferenceError struct {
	Operator string
	Part     string // "": the reference
	Fault    string // what it does, as "does not compile: reference.cu:3: ..."
	Log      string // the compiler's, where that refused it
}

func (e *ReferenceError) Error() string {
	return fmt.Sprintf("%s of %s %s", cmp.Or(e.Part, "the reference"), e.Operator, e.Fault)
}

// TooFarApart says that an operator's own comparison refuses what a variant made.
func TooFarApart(file string, apart, bound float64) string {
	return fmt.Sprintf("%s gives %.6g for how far it is from the reference; %.6g is allowed", file, apart, bound)
}

// ComparesItself says that it refuses the reference itself.
func ComparesItself(file string, apart, bound float64) string {
	return fmt.Sprintf("cannot be right: %s gives %.6g for the reference against itself; %.6g is allowed", file, apart, bound)
}
