package device

import "fmt"

// ReferenceError means that an operator's reference cannot say what is right: it
// does not compile, fails, does not end, or gives what no variant can be held
// against. The operator is to blame, not the device.
type ReferenceError struct {
	Operator string
	Fault    string // what it does, as "does not compile: reference.cu:3: ..."
	Log      string // the compiler's, where that refused it
}

func (e *ReferenceError) Error() string {
	return fmt.Sprintf("the reference of %s %s", e.Operator, e.Fault)
}
