package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/internal/output"
	"autotune/reports"
	"autotune/reports/cudasource"
	"autotune/reports/pytorch"
	"autotune/tuner/device/emulator"
	"autotune/tuner/operator"
)

func exportCommand() *cli.Command {
	return &cli.Command{
		Name:      "export",
		Usage:     "write the best configuration in a format for other programs; needs no GPU",
		ArgsUsage: "OPERATOR",
		Description: "Formats: json, the best configuration with its evidence; cu, the kernel as one CUDA file; " +
			"pytorch, a Python file with a module that takes the place of PyTorch's own.",
		Flags: append(problemFlags(), cacheFlag(),
			&cli.StringFlag{Name: "from", Usage: "take the best configuration from `FILE`, as search --json writes it, instead of the cache"},
			&cli.StringFlag{Name: "format", Value: "json", Usage: "output `FORMAT`: " + strings.Join(formatNames(), ", ")},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: "-", Usage: "`FILE` to write; - is standard output"}),
		Action: exportAction,
	}
}

// formats are ways to write a winner. The best configuration itself is one that
// needs no operator.
var formats = map[string]func(io.Writer, cudasource.Winner) error{
	"json":    nil,
	"cu":      func(out io.Writer, w cudasource.Winner) error { return w.WriteCUDA(out) },
	"pytorch": pytorch.Write,
}

func formatNames() []string { return slices.Sorted(maps.Keys(formats)) }

func exportAction(c *cli.Context) error {
	name := c.String("format")
	if err := oneOf("format", name, formatNames()); err != nil {
		return err
	}
	best, err := bestToExport(c)
	if err != nil {
		return err
	}
	text := best.WriteJSON
	if write := formats[name]; write != nil {
		winner, err := winnerOf(c, best)
		if err != nil {
			return badInput(err)
		}
		text = func(out io.Writer) error { return write(out, winner) }
	}
	return badInput(output.To(c.String("output"), text))
}

// bestToExport reads the best configuration from --from or the cache.
func bestToExport(c *cli.Context) (reports.BestConfig, error) {
	path := c.String("from")
	if path == "" {
		return bestFromCache(c)
	}
	if c.IsSet("shape") || c.IsSet("set") || c.IsSet("math") {
		return reports.BestConfig{}, badInput(fmt.Errorf("--from %s names the problem; leave --shape, --set and --math away", path))
	}
	list, err := readBests(c.Context, path)
	if err == nil && len(list) != 1 {
		err = fmt.Errorf("%s holds %s; export takes one", path, count(len(list), "document"))
	}
	if err != nil {
		return reports.BestConfig{}, badInput(err)
	}
	return list[0], nil
}

// winnerOf finds the kernel of a best configuration. With --from the operator
// need not be named.
func winnerOf(c *cli.Context, best reports.BestConfig) (cudasource.Winner, error) {
	find := operatorArgument
	if c.NArg() == 0 {
		find = func(*cli.Context) (*operator.Operator, error) { return findOperator(best.Operator) }
	}
	op, err := find(c)
	if err != nil {
		return cudasource.Winner{}, err
	}
	return cudasource.Of(best, op, emulator.Limits(), "autotune "+version())
}
