package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"autotune/reports"
)

func reportCommand() *cli.Command {
	return &cli.Command{
		Name:      "report",
		Usage:     "put best-config files together in one table, JSON list and plot",
		ArgsUsage: "FILE...",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "json", Usage: "write the list to `FILE`; - is standard output"},
			&cli.StringFlag{Name: "plot", Usage: "write the plot to `FILE.png`"},
		},
		Action: reportAction,
	}
}

func reportAction(c *cli.Context) error {
	if !c.Args().Present() {
		return badInput(errors.New("which files? As in: autotune report a.json b.json --plot summary.png"))
	}
	var list []reports.BestConfig
	for _, path := range c.Args().Slice() {
		best, err := readBest(path)
		if err != nil {
			return badInput(err)
		}
		list = append(list, best)
	}
	write := func(w io.Writer) error { return reports.WriteJSONList(w, list) }
	table := func(w io.Writer) error { return reports.SummaryTable(w, list) }
	switch path := c.String("json"); path {
	case "":
	case "-":
		table = write
	default:
		if err := reports.ToFile(path, write); err != nil {
			return badInput(err)
		}
	}
	if err := table(c.App.Writer); err != nil || c.String("plot") == "" {
		return err
	}
	return badInput(reports.ToFile(c.String("plot"), func(w io.Writer) error { return reports.SummaryPlot(w, list) }))
}

func readBest(path string) (reports.BestConfig, error) {
	f, err := os.Open(path)
	if err != nil {
		return reports.BestConfig{}, err
	}
	defer f.Close()
	best, err := reports.ReadBestConfig(f)
	if err != nil {
		return reports.BestConfig{}, fmt.Errorf("%s: %w", path, err)
	}
	return best, nil
}
