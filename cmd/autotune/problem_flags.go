package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/tuner/operator"
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

func objectiveFlag() cli.Flag {
	return &cli.StringFlag{Name: "objective", Value: "time", Usage: "what the winner is the best of: time, energy, another measurement, or a metric `NAME` of the operator; max:NAME, min:NAME"}
}

func mathFlag() cli.Flag {
	return &cli.StringFlag{Name: "math", Value: "auto", Usage: "numeric contract: auto (what PyTorch does by default), fp32, tf32 (ties away from zero) or tf32_even"}
}

// operatorArgument loads the operator that the command's one argument names: a built-in
// one, a folder with an op.yaml, or one .cu file.
func operatorArgument(c *cli.Context) (*operator.Operator, error) {
	if c.NArg() == 0 {
		return nil, badInput(fmt.Errorf("which operator? `autotune ops` lists them; as in: %s", example(c.Command.HelpName)))
	}
	if second := c.Args().Get(1); c.NArg() == 2 && strings.ContainsAny(second, "0123456789") {
		if _, err := operator.ParseShape(second); err == nil {
			return nil, badInput(fmt.Errorf("a shape is given with its flag: %s --shape %s", c.Args().First(), second))
		}
	}
	if c.NArg() > 1 {
		return nil, badInput(fmt.Errorf("one operator at a time; got %s", strings.Join(c.Args().Slice(), " ")))
	}
	op, err := findOperator(c.Args().First())
	if err != nil {
		return nil, badInput(err)
	}
	return op.AsNamed(true), nil
}

// findOperator loads a built-in operator, or the one in a folder: any word with
// a slash or dot in it names a folder, and a word that no operator has may.
func findOperator(name string) (*operator.Operator, error) {
	path := strings.ContainsAny(name, "/.")
	if !path {
		op, err := operator.Find(name)
		if err == nil {
			return op, nil
		}
		if info, statErr := os.Stat(filepath.Join(name, "op.yaml")); name == "" || statErr != nil || info.IsDir() {
			return nil, err
		}
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("no operator at %s: %w", name, errors.Unwrap(err))
	}
	folder, op := name, (*operator.Operator)(nil)
	switch {
	case info.IsDir():
		op, err = operator.Load(os.DirFS(name), ".")
	case filepath.Ext(name) == ".cu":
		folder = filepath.Dir(name)
		op, err = operator.LoadFile(os.DirFS(folder), ".", filepath.Base(name))
	default:
		return nil, fmt.Errorf("no operator at %s: it is a file; name the folder with the op.yaml, or a .cu file that describes itself", name)
	}
	var fault *operator.Error
	if errors.As(err, &fault) {
		fault.File = filepath.Join(folder, fault.File)
	}
	return op, err
}

// problemRequest reads the flags that name one problem.
func problemRequest(c *cli.Context, op *operator.Operator) (operator.Request, error) {
	return requestOf(c, op, c.String("shape"))
}

// requestOf is a request for a shape with the parameters that the flags set.
func requestOf(c *cli.Context, op *operator.Operator, shape string) (operator.Request, error) {
	if shape == "" {
		return operator.Request{}, badInput(fmt.Errorf("%s needs --shape %s", op.Name, shapeForm(op)))
	}
	dims, err := operator.ParseShape(shape)
	if err != nil {
		return operator.Request{}, badInput(fmt.Errorf("--shape: %w", err))
	}
	parameters, err := assignments("set", c.StringSlice("set"))
	if err != nil {
		return operator.Request{}, badInput(err)
	}
	only, err := restriction(c)
	return operator.Request{Shape: dims, Parameters: parameters, Math: c.String("math"), Only: only}, err
}

// assignments reads the NAME=VALUE pairs of a flag.
func assignments(flag string, pairs []string) (map[string]string, error) {
	values := map[string]string{}
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		if name == "" || value == "" {
			return nil, fmt.Errorf("--%s %s: want NAME=VALUE, as --set kernel=3x5", flag, pair)
		}
		if _, twice := values[name]; twice {
			return nil, fmt.Errorf("--%s %s: %s is set twice", flag, pair, name)
		}
		values[name] = value
	}
	return values, nil
}
