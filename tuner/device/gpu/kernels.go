package gpu

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

// entries are the kernels of each file. All come with the one that is compiled for.
var entries = map[string][]string{
	"kernels.cu": {"compare", "fill", "checksum", "guard_fill", "guard_check", "dirty_shared"},
	"typed.cu":   {"compare_typed", "fill_typed", "checksum_typed"},
}

// Kernels are the device's own files that some arguments need, to be compiled ahead.
func Kernels(arguments []operator.Argument) []operator.Kernel {
	file := func(name, source string) operator.Kernel {
		return operator.Kernel{
			Operator: "device", Template: "kernels", Launches: operator.Launches{{Entry: entries[name][0]}}, File: name, Source: source,
			Includes: map[string]string{"common.cuh": common, "elements.h": elements.Source},
		}
	}
	all := []operator.Kernel{file("kernels.cu", kernels)}
	if slices.ContainsFunc(arguments, elements.Typed) {
		all = append(all, file("typed.cu", typedKernels))
	}
	return all
}

// compileOwn compiles one of the device's own sources, unless it is compiled.
func (p *processor) compileOwn(ctx context.Context, k operator.Kernel) error {
	p.mu.Lock()
	code := p.own[k.File]
	p.mu.Unlock()
	if code != nil {
		return nil
	}
	binary, err := p.Options.Compiler.Compile(ctx, compile.Request{Kernel: k, Arch: p.Target})
	if err != nil {
		return fmt.Errorf("compile the device's own kernels: %w", err)
	}
	p.mu.Lock()
	p.own[k.File] = binary.Code
	p.mu.Unlock()
	return nil
}
