// Package export writes winners for other programs. Each supported format is an entry of Formats.
package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"autotune/device/compile"
	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/reports/pytorch"
	"autotune/tuner/bestconfig"
	"autotune/tuner/cudasource"
)

var Formats = []Format{
	{"cu", "the kernel as one CUDA file", ofKernel(writeCU)},
	{"cubin", "the kernel compiled for the GPU of the search", writeCubin},
	{"ptx", "the kernel compiled to PTX, which the driver compiles for later GPUs too", ofKernel(writePTX)},
	{"json", "the best configuration with its evidence", writeDocument},
	{"pytorch", "a Python file with a module that takes the place of PyTorch's own", ofKernel(writePyTorch)},
	{"solution", "a solution.json of FlashInfer-Bench and SOL-ExecBench", ofKernel(writeSolution)},
}

// Format is a file format in which other programs can read a winner.
type Format struct {
	Name    string
	Summary string // describes the format on the help page
	// Write writes a winner. The returned notes name the properties of the winner that the format cannot express.
	Write func(ctx context.Context, out io.Writer, w Winner) (notes []string, err error)
}

type Winner struct {
	Best   bestconfig.Document
	Path   string // the file's path, "-" for standard output
	Kernel func() (cudasource.Winner, error)
}

func Names() []string {
	return lists.Of(Formats, func(f Format) string { return f.Name })
}

func Summary() string {
	return strings.Join(lists.Of(Formats, func(f Format) string { return f.Name + ", " + f.Summary }), "; ")
}

type write = func(context.Context, io.Writer, Winner) ([]string, error)

func ofKernel(of func(context.Context, io.Writer, cudasource.Winner) ([]string, error)) write {
	return func(ctx context.Context, out io.Writer, w Winner) ([]string, error) {
		k, err := w.Kernel()
		if err != nil {
			return nil, err
		}
		return of(ctx, out, k)
	}
}

func writeDocument(_ context.Context, out io.Writer, w Winner) ([]string, error) {
	return nil, w.Best.WriteJSON(out)
}

func writePyTorch(_ context.Context, out io.Writer, k cudasource.Winner) ([]string, error) {
	return nil, pytorch.Write(out, k)
}

func writeCU(_ context.Context, out io.Writer, k cudasource.Winner) ([]string, error) {
	return nil, k.WriteCUDA(out)
}

func writeCubin(ctx context.Context, out io.Writer, w Winner) ([]string, error) {
	if w.Path == output.Standard {
		return nil, errors.New("--format cubin writes a binary: name its file, as in -o kernel.cubin")
	}
	return ofKernel(func(ctx context.Context, out io.Writer, k cudasource.Winner) ([]string, error) {
		return writeBinary(ctx, out, k, "sm_")
	})(ctx, out, w)
}

func writePTX(ctx context.Context, out io.Writer, k cudasource.Winner) ([]string, error) {
	return writeBinary(ctx, out, k, "compute_")
}

// writeBinary writes a kernel as the binary or PTX that NVRTC compiles, and returns notes on how to launch the kernel.
func writeBinary(ctx context.Context, out io.Writer, k cudasource.Winner, prefix string) ([]string, error) {
	b, target, err := compiled(ctx, k, prefix)
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

// compiled compiles a winner's kernel with NVRTC and returns the binary and the name of the architecture, which begins
// with the prefix: "sm_" for a GPU, "compute_" for PTX.
func compiled(ctx context.Context, k cudasource.Winner, prefix string) (*compile.Binary, string, error) {
	target, err := k.Target()
	if err != nil {
		return nil, "", err
	}
	compiler, err := compile.NVRTC(ctx)
	if err != nil {
		return nil, "", err
	}
	defer compiler.Close()
	target = strings.Replace(target, "sm_", prefix, 1)
	b, err := compiler.Compile(ctx, compile.Request{Kernel: k.Kernel, Arch: target})
	var refused *compile.Error
	if errors.As(err, &refused) {
		err = fmt.Errorf("%s does not compile for %s: %w", k.Kernel.Template, target, err)
	}
	return b, target, err
}
