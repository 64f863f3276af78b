package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"autotune/internal/input"
	"autotune/internal/output"
	"autotune/reports"
)

func reportCommand() *cli.Command {
	return &cli.Command{
		Name:      "report",
		Usage:     "put best-config files together in one table, JSON list and plot",
		ArgsUsage: "FILE...",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "json", Usage: "write the list to `FILE`; - is standard output, in place of the table"},
			plotFlag("; - is standard output, in place of the table"),
		},
		Action: reportAction,
	}
}

func reportAction(c *cli.Context) error {
	if err := distinctOutputs(c, "json", "plot"); err != nil {
		return err
	}
	if !c.Args().Present() {
		return badInput(errors.New("which files? As in: autotune report a.json b.json --plot summary.png"))
	}
	var list []reports.BestConfig
	for _, path := range c.Args().Slice() {
		read, err := readBests(c.Context, path)
		if err != nil {
			return badInput(err)
		}
		list = append(list, read...)
	}
	return writeShown(c, shown{
		table: func(w io.Writer) error { return reports.SummaryTable(w, list) },
		json:  func(w io.Writer) error { return reports.WriteJSONList(w, list) },
		plot:  func(w io.Writer) error { return reports.SummaryPlot(w, list) },
		name:  "summary.png",
	})
}

// shown is something in each form that it can be shown in.
type shown struct {
	table, json, plot func(io.Writer) error
	name              string // of the plot in a folder
}

// writeShown writes the files that --json and --plot name, and prints the table,
// unless a file takes standard output.
func writeShown(c *cli.Context, s shown) error {
	json, plot := c.String("json"), c.String("plot")
	if json != "" {
		if err := output.To(json, s.json); err != nil {
			return badInput(err)
		}
	}
	if json != output.Standard && plot != output.Standard {
		if err := s.table(c.App.Writer); err != nil {
			return err
		}
	}
	if plot == "" {
		return nil
	}
	path, err := plotFile(plot, s.name)
	if err != nil {
		return badInput(fmt.Errorf("--plot %s: %w", plot, err))
	}
	return badInput(output.To(path, s.plot))
}

// readBests reads a best-config document, or a list of them.
func readBests(ctx context.Context, path string) ([]reports.BestConfig, error) {
	return input.File(ctx, path, reports.ReadBestConfigs)
}
