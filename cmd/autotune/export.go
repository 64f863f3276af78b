package main

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/internal/output"
	"autotune/reports"
	"autotune/reports/cudasource"
	"autotune/reports/pytorch"
)

func exportCommand() *cli.Command {
	return &cli.Command{
		Name:      "export",
		Usage:     "write the best configuration in a format for other programs; needs no GPU",
		ArgsUsage: "OPERATOR",
		Description: "Formats: json, the best configuration with its evidence; cu, the kernel as one CUDA file; " +
			"pytorch, a Python file with a module that takes the place of PyTorch's own; csv and md, a table of the winner or, with --all, of every trial; " +
			"t1, the winner's template as a T1 document, with its kernel's file beside it; kernel-tuner, its trials as a cache of Kernel Tuner.",
		Flags: append(winnerFlags(),
			&cli.BoolFlag{Name: "all", Usage: "with --format csv or md: every trial of the problem, not the winner alone"},
			&cli.StringFlag{Name: "format", Value: "json", Usage: "output `FORMAT`: " + strings.Join(formatNames(), ", ")},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: "-", Usage: "`FILE` to write; - is standard output"}),
		Action: exportAction,
	}
}

// format is a way to write a winner: what is known of it, or its kernel.
type format struct {
	name   string
	known  func(io.Writer, chosen) error
	trials bool // known writes all trials where they are asked for
	always bool // they need not be asked for
	kernel func(io.Writer, cudasource.Winner) error
	// shared is of what other tuners read; it also gives what they cannot be told.
	shared func(c *cli.Context, out io.Writer, w chosen, k cudasource.Winner) (notes []string, err error)
}

var formats = []format{
	{name: "cu", kernel: func(out io.Writer, w cudasource.Winner) error { return w.WriteCUDA(out) }},
	{name: "json", known: func(out io.Writer, w chosen) error { return w.best.WriteJSON(out) }},
	{name: "pytorch", kernel: pytorch.Write},
	{name: "csv", known: func(out io.Writer, w chosen) error { return reports.WriteTrialsCSV(out, w.best, w.trials) }, trials: true},
	{name: "md", known: func(out io.Writer, w chosen) error { return reports.WriteTrialsMarkdown(out, w.best, w.trials) }, trials: true},
	{name: "t1", shared: exportT1},
	{name: "kernel-tuner", shared: exportKernelTuner, always: true},
}

// takesTrials tells whether a winner must come with all trials of its problem.
func takesTrials(c *cli.Context) bool {
	at := slices.IndexFunc(formats, func(f format) bool { return f.name == c.String("format") })
	return c.Bool("all") || at >= 0 && formats[at].always
}

func formatNames() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

func exportAction(c *cli.Context) error {
	name := c.String("format")
	if err := oneOf("format", name, formatNames()); err != nil {
		return err
	}
	format := formats[slices.Index(formatNames(), name)]
	if c.Bool("all") && !format.trials {
		return badInput(errors.New("--all goes with --format csv or md; the other formats are of one configuration"))
	}
	w, err := chooseWinner(c)
	if err != nil {
		return err
	}
	if format.known != nil {
		return badInput(output.To(c.String("output"), func(out io.Writer) error { return format.known(out, w) }))
	}
	kernel, err := w.kernelOf(c)
	if err != nil {
		return err
	}
	// Before the file is touched: what a format cannot say of this kernel is no
	// fault of the file.
	var text bytes.Buffer
	var notes []string
	if format.shared != nil {
		notes, err = format.shared(c, &text, w, kernel)
	} else {
		err = format.kernel(&text, kernel)
	}
	if err != nil {
		return badInput(err)
	}
	err = output.To(c.String("output"), func(out io.Writer) error { _, err := text.WriteTo(out); return err })
	if err == nil {
		leaveOut(c, notes)
	}
	return badInput(err)
}
