package cuda

import (
	"context"
	_ "embed"
	"fmt"
	"slices"

	"autotune/tuner/compile"
	"autotune/tuner/device/elements"
	"autotune/tuner/operator"
)

// The device's own kernels. Those of typed.cu are compiled when a problem first
// needs them.
var (
	//go:embed kernels.cu
	kernels string
	//go:embed typed.cu
	typedKernels string
	//go:embed common.cuh
	common string
)

// helperKernel is kernels.cu; all its entries come with the one it names.
func helperKernel() operator.Kernel { return ownKernel("kernels.cu", kernels, "compare") }

// typedKernel is typed.cu.
func typedKernel() operator.Kernel { return ownKernel("typed.cu", typedKernels, "compare_typed") }

func ownKernel(file, source, entry string) operator.Kernel {
	return operator.Kernel{
		Operator: "device", Template: "kernels", Launches: operator.Launches{{Entry: entry}}, File: file, Source: source,
		Includes: map[string]string{"common.cuh": common, "elements.h": elements.Source},
	}
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
