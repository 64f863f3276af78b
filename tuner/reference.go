package tuner

import (
	"context"
	"errors"
	"fmt"

	"autotune/tuner/compile"
	"autotune/tuner/device"
)

// compileReference compiles the reference of a request's problem; no binary where what
// is right is said by no kernel.
func compileReference(ctx context.Context, c compile.Compiler, r compile.Request) (*compile.Binary, error) {
	if r.Problem.Operator.Answers != nil {
		return nil, nil
	}
	var err error
	if r.Kernel, err = r.Problem.Reference(); err != nil {
		return nil, err
	}
	return c.Compile(ctx, r)
}

// compileReference compiles what every variant is verified against.
func (s *search) compileReference(ctx context.Context) (*compile.Binary, error) {
	binary, err := compileReference(ctx, s.compiler, compile.Request{Arch: s.device.Arch(), Problem: s.problem})
	var refused *compile.Error
	if errors.As(err, &refused) {
		return nil, device.NotCompiled(s.problem.Operator.Name, "", refused)
	}
	if err != nil {
		return nil, fmt.Errorf("compile the reference: %w", err)
	}
	return binary, nil
}
