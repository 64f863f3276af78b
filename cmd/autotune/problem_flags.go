package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/templates"
)

// problemFlags name a problem: an operator bound to a shape, parameters and a
// math mode.
func problemFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "shape", Usage: shapeUsage},
		setFlag(), mathFlag(),
	}
}

const shapeUsage = "input `SHAPE`, as 16x16x1024x1024; `autotune ops show OP` names the dimensions"

// shapesFlag is --shape where several problems can be named.
func shapesFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "shape", Usage: shapeUsage + "; may be repeated"}
}

func setFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "set", Usage: "operator parameter, as `NAME=VALUE`; a pair may be 3 or 3x5; may be repeated"}
}

func mathFlag() cli.Flag {
	return &cli.StringFlag{Name: "math", Value: "auto", Usage: "numeric contract: auto (what PyTorch does by default), fp32 or tf32"}
}

// operatorArgument loads the operator that the command's one argument names: a
// built-in one, or a folder with an op.yaml.
func operatorArgument(c *cli.Context) (*templates.Operator, error) {
	if c.NArg() == 0 {
		return nil, badInput(fmt.Errorf("which operator? `autotune ops` lists them; as in: autotune %s conv2d --shape 16x16x1024x1024", c.Command.Name))
	}
	if c.NArg() > 1 {
		return nil, badInput(fmt.Errorf("one operator at a time; got %s", strings.Join(c.Args().Slice(), " ")))
	}
	op, err := findOperator(c.Args().First())
	return op, badInput(err)
}

func findOperator(name string) (*templates.Operator, error) {
	if strings.ContainsAny(name, "/.") {
		if _, err := os.Stat(name); err != nil {
			return nil, fmt.Errorf("no operator at %s: %w", name, errors.Unwrap(err))
		}
		return templates.Load(os.DirFS(name), ".")
	}
	return templates.Find(name)
}

// problemRequest reads the flags that name one problem.
func problemRequest(c *cli.Context, op *templates.Operator) (templates.Request, error) {
	return requestOf(c, op, c.String("shape"))
}

// requestOf is a request for a shape with the parameters that the flags set.
func requestOf(c *cli.Context, op *templates.Operator, shape string) (templates.Request, error) {
	if shape == "" {
		return templates.Request{}, badInput(fmt.Errorf("%s needs --shape %s", op.Name, strings.Join(op.Shape, "x")))
	}
	dims, err := templates.ParseShape(shape)
	if err != nil {
		return templates.Request{}, badInput(fmt.Errorf("--shape: %w", err))
	}
	parameters, err := assignments(c.StringSlice("set"))
	if err != nil {
		return templates.Request{}, badInput(err)
	}
	return templates.Request{Shape: dims, Parameters: parameters, Math: c.String("math")}, nil
}

// assignments reads NAME=VALUE pairs.
func assignments(pairs []string) (map[string]string, error) {
	values := map[string]string{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" || value == "" {
			return nil, fmt.Errorf("--set %s: want NAME=VALUE, as --set kernel=3x5", pair)
		}
		if _, twice := values[name]; twice {
			return nil, fmt.Errorf("--set %s: %s is set twice", pair, name)
		}
		values[name] = value
	}
	return values, nil
}
