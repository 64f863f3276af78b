package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"autotune/internal/output"
	"autotune/reports"
)

func bestCommand() *cli.Command {
	return &cli.Command{
		Name:      "best",
		Usage:     "show the best configuration that the cache knows; needs no GPU",
		ArgsUsage: "OPERATOR",
		Flags: append(winnerFlags(),
			&cli.StringFlag{Name: "json", Usage: "write the best configuration to `FILE`; - is standard output"}),
		Action: bestAction,
	}
}

func bestAction(c *cli.Context) error {
	w, err := chooseWinner(c, false)
	if err != nil {
		return err
	}
	if path := c.String("json"); path != "" {
		return badInput(output.To(path, w.best.WriteJSON))
	}
	return reports.Table(c.App.Writer, w.best)
}

// whoseFlag chooses among the devices that the cache has something of.
func whoseFlag(what string) cli.Flag {
	return &cli.StringFlag{Name: "device", Value: "auto", Usage: "whose " + what + ": `DEVICE` is a kind (cuda, emulator) or part of a GPU's name; auto takes a GPU's before the emulator's"}
}

// winnerFlags say which winner of which problem is meant.
func winnerFlags() []cli.Flag {
	return append(slices.Concat(problemFlags(), conditionFlags()), cacheFlag(),
		whoseFlag("winner"), objectiveFlag(),
		&cli.StringFlag{Name: "from", Usage: "instead of the cache take `FILE`, a best-config document or a recording; replay takes the recording that is shipped"})
}
