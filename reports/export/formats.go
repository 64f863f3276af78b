package export

import (
	"context"
	"errors"
	"io"

	"autotune/reports"
	"autotune/reports/pytorch"
	"autotune/tuner/cudasource"
)

var document = Format{Name: "json", Summary: "the best configuration with its evidence", Write: func(_ context.Context, out io.Writer, w Winner) ([]string, error) {
	return nil, w.Best.WriteJSON(out)
}}

var csv = Format{
	Name: "csv", Summary: "a table of the winner or, with --all, of every trial", Trials: Asked,
	Write: func(_ context.Context, out io.Writer, w Winner) ([]string, error) {
		return nil, reports.WriteTrialsCSV(out, w.Best, w.Trials)
	},
}

var markdown = Format{
	Name: "md", Summary: "that table in Markdown", Trials: Asked,
	Write: func(_ context.Context, out io.Writer, w Winner) ([]string, error) {
		return nil, reports.WriteTrialsMarkdown(out, w.Best, w.Trials)
	},
}

var cu = Format{Name: "cu", Summary: "the kernel as one CUDA file, with -DAUTOTUNE_MAIN a program that verifies and times it", Write: writeCU}

func writeCU(_ context.Context, out io.Writer, w Winner) ([]string, error) {
	k, err := w.Kernel()
	if err != nil {
		return nil, err
	}
	err = k.WriteProgram(out)
	if errors.Is(err, cudasource.ErrNoProgram) {
		return []string{err.Error()}, nil
	}
	return nil, err
}

var torch = Format{Name: "pytorch", Summary: "a Python file with a module that takes the place of PyTorch's own", Write: ofKernel(pytorch.Write)}

// ofKernel writes a format that has no more than the kernel.
func ofKernel(write func(io.Writer, cudasource.Winner) error) func(context.Context, io.Writer, Winner) ([]string, error) {
	return func(_ context.Context, out io.Writer, w Winner) ([]string, error) {
		k, err := w.Kernel()
		if err != nil {
			return nil, err
		}
		return nil, write(out, k)
	}
}
