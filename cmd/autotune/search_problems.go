package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/internal/input"
	"autotune/tuner/batch"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// searchRequests reads what to search: --problems, or an operator and shapes.
func searchRequests(c *cli.Context) ([]batch.Request, error) {
	if c.IsSet("problems") {
		if c.NArg() > 0 || c.IsSet("shape") || c.IsSet("set") {
			return nil, badInput(errors.New("--problems names operators, shapes and parameters itself; give it alone"))
		}
		return requestsOfFile(c, c.String("problems"))
	}
	op, err := operatorArgument(c)
	if err != nil {
		return nil, err
	}
	shapes := c.StringSlice("shape")
	if len(shapes) == 0 {
		shapes = []string{""}
	}
	baselines, err := baselineTimes(c.StringSlice("baseline"))
	if err != nil {
		return nil, badInput(err)
	}
	if len(baselines) > 0 && len(shapes) > 1 {
		return nil, badInput(errors.New("--baseline is one problem's time; with several shapes use --problems and its baselines"))
	}
	var list []batch.Request
	for _, shape := range shapes {
		request, err := requestOf(c, op, shape)
		if err != nil {
			return nil, err
		}
		list = append(list, batch.Request{Name: c.Args().First(), Operator: op, Request: request, Baselines: baselines})
	}
	return list, nil
}

var problemsBound = input.Bound{Kind: "a problems file", Bytes: 256 << 10}

// requestsOfFile reads a list of problems, in YAML or JSON. The flags may ask for part of
// each one's space.
func requestsOfFile(c *cli.Context, path string) ([]batch.Request, error) {
	text, err := input.File(c.Context, path, problemsBound.Read)
	if err != nil {
		return nil, badInput(err)
	}
	asked, err := operator.ReadProblems(path, string(text))
	if err != nil {
		return nil, badInput(err)
	}
	only, err := restriction(c)
	if err != nil {
		return nil, err
	}
	var list []batch.Request
	operators := map[string]*operator.Operator{}
	for i, a := range asked {
		op, err := operators[a.Operator], error(nil)
		if op == nil {
			op, err = findOperator(a.Operator)
			operators[a.Operator] = op
		}
		if err == nil {
			err = checkBaselines(a.Baselines)
		}
		if err != nil {
			return nil, badInput(fmt.Errorf("%s: problem %d: %w", path, i+1, err))
		}
		a.Request.Only = only
		list = append(list, batch.Request{Name: a.Operator, Operator: op, Request: a.Request, Baselines: a.Baselines})
	}
	return list, nil
}

// baselineNames are the baselines that are measured outside of a search.
var baselineNames = []string{"torch_eager", "torch_compile", "torch_eager_fp32"}

// baselineTimes reads NAME=MS pairs.
func baselineTimes(pairs []string) (map[string]float64, error) {
	times := map[string]float64{}
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		ms, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("--baseline %s: want NAME=MS, as torch_eager=7.1", pair)
		}
		times[name] = ms
	}
	return times, checkBaselines(times)
}

func checkBaselines(times map[string]float64) error {
	for name, ms := range times {
		if err := oneOf("baseline", name, baselineNames); err != nil {
			return err
		}
		if err := trial.CheckMS(ms); err != nil {
			return fmt.Errorf("baseline %s: %w", name, err)
		}
	}
	return nil
}
