package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"autotune/device/compile"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/tuner/cudasource"
)

var cubin = Format{Name: "cubin", Summary: "the kernel compiled for the GPU of the search", Write: func(ctx context.Context, out io.Writer, w Winner) ([]string, error) {
	if w.Path == output.Standard {
		return nil, errors.New("--format cubin writes a binary: name its file, as in -o kernel.cubin")
	}
	return writeBinary(ctx, out, w, func(target string) string { return target })
}}

var ptx = Format{Name: "ptx", Summary: "the kernel compiled to PTX, which the driver compiles for later GPUs too", Write: func(ctx context.Context, out io.Writer, w Winner) ([]string, error) {
	return writeBinary(ctx, out, w, func(target string) string { return strings.Replace(target, "sm_", "compute_", 1) })
}}

// writeBinary writes what NVRTC makes of the kernel. The notes say how it is launched, which a
// binary does not tell.
func writeBinary(ctx context.Context, out io.Writer, w Winner, arch func(target string) string) ([]string, error) {
	k, err := w.Kernel()
	if err != nil {
		return nil, err
	}
	b, target, err := Compiled(ctx, k, arch)
	if err != nil {
		return nil, err
	}
	notes := []string{"compiled for " + target}
	for _, l := range k.Kernel.Launches {
		notes = append(notes, fmt.Sprintf("launch %s with %s", b.Symbol(l.Entry), l))
		for _, row := range k.Given(l, func(a operator.Argument) string { return a.Name }).Maps {
			notes = append(notes, "and with a tensor map of 16 words, whose last are 0: "+row)
		}
	}
	_, err = out.Write(b.Code)
	return notes, err
}

// Compiled is the kernel of a winner, compiled by NVRTC.
func Compiled(ctx context.Context, k cudasource.Winner, arch func(target string) string) (*compile.Binary, string, error) {
	target, err := k.Target()
	if err != nil {
		return nil, "", err
	}
	compiler, err := compile.NVRTC(ctx)
	if err != nil {
		return nil, "", err
	}
	defer compiler.Close()
	target = arch(target)
	b, err := compiler.Compile(ctx, compile.Request{Kernel: k.Kernel, Arch: target})
	var refused *compile.Error
	if errors.As(err, &refused) {
		err = fmt.Errorf("%s does not compile for %s: %w", k.Kernel.Template, target, err)
	}
	return b, target, err
}
