package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"autotune/internal/input"
	"autotune/internal/lists"
	"autotune/operator"
	"autotune/tuner/torchmath"
	"autotune/tuner/torchtimes"
)

func opsCallsCommand() *cli.Command {
	return command("calls FILE", "the calls of PyTorch that compute the problems of a file, as JSON",
		"FILE is a list as `search --problems` reads. Scripts run these calls, and compare or time them.",
		printCalls)
}

type problemCalls struct {
	Operator   string              `json:"operator"`
	Shape      []int64             `json:"shape"`
	Parameters map[string]any      `json:"parameters"` // a value, or a list of a parameter's components
	Arguments  []operator.Argument `json:"arguments"`
	Math       string              `json:"math"`
	MathModes  []string            `json:"math_modes"`
	Calls      []torchtimes.Call   `json:"calls"`
	AskMath    any                 `json:"ask_math"` // a job for tuner/torchmath/ask.py, or nil
}

func printCalls(ctx context.Context, l line) error {
	if len(l.arguments) != 1 {
		return fmt.Errorf("name one file with a list of problems")
	}
	path := l.first()
	text, err := input.File(ctx, path, problemsBound.Read)
	if err != nil {
		return err
	}
	asked, err := operator.ReadProblems(path, string(text))
	if err != nil {
		return err
	}
	all := []problemCalls{}
	for i, a := range asked {
		o, err := findOperator(a.Operator)
		if err != nil {
			return err
		}
		p, err := o.Bind(a.Request, operator.TypicalLimits())
		if err != nil {
			return fmt.Errorf("%s: problem %d: %w", a.At, i+1, err)
		}
		described := problemCalls{
			Operator: o.Name, Shape: p.Shape, Parameters: torchtimes.Parameters(p), Math: p.Math, MathModes: o.MathModes,
			Arguments: lists.Where(p.Arguments, func(a operator.Argument) bool { return a.Owner == "" }),
			Calls:     torchtimes.CallsOf(p), AskMath: torchmath.Question(p),
		}
		all = append(all, described)
	}
	return printJSON(stdout, all)
}
