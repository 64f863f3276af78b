package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"autotune/internal/output"
	"autotune/reports"
	"autotune/tuner"
	"autotune/tuner/device/emulator"
	"autotune/tuner/operator"
	"autotune/tuner/store"
)

func bestCommand() *cli.Command {
	return &cli.Command{
		Name:      "best",
		Usage:     "show the best configuration that the cache knows; needs no GPU",
		ArgsUsage: "OPERATOR",
		Flags: append(problemFlags(), cacheFlag(),
			&cli.StringFlag{Name: "json", Usage: "write the best configuration to `FILE`; - is standard output"}),
		Action: bestAction,
	}
}

func bestAction(c *cli.Context) error {
	best, err := bestFromCache(c)
	if err != nil {
		return err
	}
	if path := c.String("json"); path != "" {
		return badInput(output.To(path, best.WriteJSON))
	}
	return reports.Table(c.App.Writer, best)
}

// bestFromCache finds the newest winner of the problem that the flags name, on
// whichever device it was found.
func bestFromCache(c *cli.Context) (reports.BestConfig, error) {
	var none reports.BestConfig
	op, err := operatorArgument(c)
	if err != nil {
		return none, err
	}
	problems, err := possibleProblems(c, op)
	if err != nil {
		return none, err
	}
	s, err := openStore(c, store.Options{ReadOnly: true, Wait: 5 * time.Second})
	if err != nil {
		return none, err
	}
	defer s.Close()
	records, err := tuner.Winners(s, op.Name)
	if err != nil {
		return none, err
	}
	records = slices.DeleteFunc(records, func(r tuner.Record) bool { return !slices.Contains(problems, r.Problem.Text) })
	if len(records) == 0 {
		return none, withCode(exitNoVariant, fmt.Errorf("the cache holds no winner of %s; run `autotune search` first (`autotune cache ls` lists what there is)", problems[0]))
	}
	return reports.FromRecord(records[0]), nil
}

// possibleProblems binds the request as GPUs of different generations would:
// `--math auto` depends on the GPU, and none is needed here.
func possibleProblems(c *cli.Context, op *operator.Operator) ([]string, error) {
	request, err := problemRequest(c, op)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, arch := range []int{90, 70} {
		limits := emulator.Limits()
		limits.Arch = arch
		p, err := op.Bind(request, limits)
		if err != nil {
			return nil, badInput(err)
		}
		if name := p.String(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}
