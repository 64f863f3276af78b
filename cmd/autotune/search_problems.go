package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/urfave/cli/v2"

	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// searchProblem is a problem that a search is asked for.
type searchProblem struct {
	name      string // the operator as the user names it
	operator  *operator.Operator
	request   operator.Request
	baselines map[string]float64
}

// searchProblems reads what to search: --problems, or an operator and shapes.
func searchProblems(c *cli.Context) ([]searchProblem, error) {
	if c.IsSet("problems") {
		if c.NArg() > 0 || c.IsSet("shape") || c.IsSet("set") {
			return nil, badInput(errors.New("--problems names operators, shapes and parameters itself; give it alone"))
		}
		return problemsOfFile(c.String("problems"))
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
	var list []searchProblem
	for _, shape := range shapes {
		request, err := requestOf(c, op, shape)
		if err != nil {
			return nil, err
		}
		list = append(list, searchProblem{c.Args().First(), op, request, baselines})
	}
	return list, nil
}

// problemEntry is one problem of a problems file.
type problemEntry struct {
	Operator   string             `yaml:"operator"`
	Shape      string             `yaml:"shape"`
	Parameters map[string]any     `yaml:"parameters"`
	Math       string             `yaml:"math"`
	Baselines  map[string]float64 `yaml:"baselines"`
}

// problemsOfFile reads a list of problems, in YAML or JSON.
func problemsOfFile(path string) ([]searchProblem, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, badInput(err)
	}
	var entries []problemEntry
	if err := yaml.UnmarshalWithOptions(data, &entries, yaml.Strict()); err != nil {
		return nil, badInput(fmt.Errorf("%s: want a list of {operator, shape, parameters, math, baselines}: %s", path, yaml.FormatError(err, false, false)))
	}
	if len(entries) == 0 {
		return nil, badInput(fmt.Errorf("%s: holds no problem; want a list of {operator, shape, parameters, math}", path))
	}
	var list []searchProblem
	for i, e := range entries {
		w, err := e.problem()
		if err != nil {
			return nil, badInput(fmt.Errorf("%s: problem %d: %w", path, i+1, err))
		}
		list = append(list, w)
	}
	return list, nil
}

func (e problemEntry) problem() (searchProblem, error) {
	op, err := findOperator(e.Operator)
	if err != nil {
		return searchProblem{}, err
	}
	shape, err := operator.ParseShape(e.Shape)
	if err != nil {
		return searchProblem{}, err
	}
	parameters := map[string]string{}
	for name, value := range e.Parameters {
		parameters[name] = fmt.Sprint(value)
	}
	return searchProblem{e.Operator, op, operator.Request{Shape: shape, Parameters: parameters, Math: e.Math}, e.Baselines}, checkBaselines(e.Baselines)
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
