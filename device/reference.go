package device

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"autotune/device/compile"
	"autotune/operator"
)

// ReferenceError means that an operator's right answer cannot be computed, through a fault of the operator: its
// reference, or a kernel that fills or compares tensors, does not compile, fails, does not end, or gives an unusable
// result.
type ReferenceError struct {
	Operator string
	Part     string // FillKernel or Comparison; "" for the reference
	Fault    string // what went wrong, as "does not compile: reference.cu:3: ..."
	Log      string // the compiler's log, if it refused the part
}

const (
	FillKernel = "the fill kernel"
	Comparison = "the comparison"
)

func Blame(operator, part, format string, values ...any) *ReferenceError {
	return &ReferenceError{Operator: operator, Part: part, Fault: fmt.Sprintf(format, values...)}
}

func NotCompiled(operator, part string, refused *compile.Error) *ReferenceError {
	return &ReferenceError{Operator: operator, Part: part, Fault: "does not compile: " + refused.Error(), Log: refused.Log}
}

// CompileReference compiles the reference kernel that every variant of a problem is verified against. The binary is nil
// if kernels are not compiled for the device, or if the operator's reference is not a kernel.
func CompileReference(ctx context.Context, d Device, p *operator.Problem, limit time.Duration) (*compile.Binary, error) {
	if !d.Info().Kind.Properties().Compiles || p.Operator.Answers != nil {
		return nil, nil
	}
	kernel, err := p.Reference()
	if err != nil {
		return nil, fmt.Errorf("compile the reference: %w", err)
	}
	b, err := d.Compiler().Compile(ctx, compile.Request{Kernel: kernel, Arch: d.Arch(), Problem: p, Timeout: limit})
	var refused *compile.Error
	switch {
	case errors.As(err, &refused):
		return nil, NotCompiled(p.Operator.Name, "", refused)
	case err != nil:
		return nil, fmt.Errorf("compile the reference: %w", err)
	}
	return b, nil
}

func (e *ReferenceError) Error() string {
	return fmt.Sprintf("%s of %s %s", cmp.Or(e.Part, "the reference"), e.Operator, e.Fault)
}
