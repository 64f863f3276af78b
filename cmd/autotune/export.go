package main

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/internal/output"
	"autotune/reports/cudasource"
	"autotune/reports/export"
)

func exportCommand() *cli.Command {
	return &cli.Command{
		Name:        "export",
		Usage:       "write the best configuration in a format for other programs; needs no GPU",
		ArgsUsage:   "OPERATOR",
		Description: "Formats: " + export.Summary() + ".",
		Flags: append(winnerFlags(),
			&cli.BoolFlag{Name: "all", Usage: "with --format csv or md: every trial of the problem, not the winner alone"},
			&cli.StringFlag{Name: "format", Value: "json", Usage: "output `FORMAT`: " + strings.Join(export.Names(), ", ")},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: "-", Usage: "`FILE` to write; - is standard output"}),
		Action: exportAction,
	}
}

func exportAction(c *cli.Context) error {
	name := c.String("format")
	if err := oneOf("format", name, export.Names()); err != nil {
		return err
	}
	format := export.Formats[slices.Index(export.Names(), name)]
	if c.Bool("all") && format.Trials != export.Asked {
		return badInput(errors.New("--all goes with --format csv or md; the other formats are of one configuration"))
	}
	w, err := chooseWinner(c, c.Bool("all") || format.Trials == export.Always)
	if err != nil {
		return err
	}
	given := export.Winner{
		Best: w.best, Path: c.String("output"), Force: c.Bool("force"), Kernel: func() (cudasource.Winner, error) { return w.kernelOf(c) },
	}
	if w.Chosen != nil {
		given.Trials = w.Trials
	}
	// The file is touched at last: a format that cannot say something of this kernel
	// leaves it as it was.
	var text bytes.Buffer
	notes, err := format.Write(c.Context, &text, given)
	if err != nil {
		return err
	}
	err = output.To(given.Path, func(out io.Writer) error { _, err := text.WriteTo(out); return err })
	if err == nil {
		tell(notes)
	}
	return badInput(err)
}
