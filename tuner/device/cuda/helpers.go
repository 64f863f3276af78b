package cuda

import (
	"context"
	"fmt"
	"slices"

	"autotune/tuner/compile"
	"autotune/tuner/device/elements"
	gpukernels "autotune/tuner/device/gpu"
	"autotune/tuner/operator"
)

// helperKernel is kernels.cu; all its entries come with the one it names.
func helperKernel() operator.Kernel { return gpukernels.Kernels(nil)[0] }

// typedKernel is typed.cu.
func typedKernel() operator.Kernel {
	return gpukernels.Kernels([]operator.Argument{{Type: operator.F64}})[1]
}

// needsTyped tells whether the kernels of kernels.cu do not do for some arguments.
func needsTyped(arguments []operator.Argument) bool {
	return slices.ContainsFunc(arguments, elements.Typed)
}

// compileOwn compiles one of the device's own sources; Close ends it.
func (g *gpu) compileOwn(ctx context.Context, k operator.Kernel) ([]byte, error) {
	binary, err := g.compiler.Compile(ctx, compile.Request{Kernel: k, Arch: g.Arch()})
	if err != nil {
		return nil, fmt.Errorf("compile the device's own kernels: %w", err)
	}
	return binary.Code, nil
}

// helpersFor gives what the worker needs for some arguments, compiled: kernels.cu,
// and typed.cu or nothing.
func (g *gpu) helpersFor(arguments []operator.Argument) (helpers, typed []byte, err error) {
	if helpers, err = g.helpers(); err == nil && needsTyped(arguments) {
		typed, err = g.typed()
	}
	return helpers, typed, err
}
