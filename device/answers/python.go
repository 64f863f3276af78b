package answers

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"autotune/internal/output"
	"autotune/internal/python"
	"autotune/operator"
	"autotune/space/expr"
)

// driver is the Python program that calls the function of an operator's Python file.
//
//go:embed driver.py
var driver string

type pythonJob struct {
	Source    string                `json:"source"` // text of the operator's file
	File      string                `json:"file"`   // its name, for messages
	Function  string                `json:"function"`
	Arguments []pythonTensor        `json:"arguments"` // what the function takes, in order
	Values    map[string]expr.Value `json:"values"`    // further values that its parameters may name
	Outputs   []pythonTensor        `json:"outputs"`   // what it returns, in order
}

// pythonTensor is an argument of the Python function: a tensor in a file, or a scalar.
type pythonTensor struct {
	Name  string      `json:"name"`
	Type  string      `json:"type"` // as NumPy calls it
	Shape []int64     `json:"shape"`
	Order []int       `json:"order"` // its axes from the outermost in memory to the innermost
	File  string      `json:"file,omitempty"`
	Value *expr.Value `json:"value,omitempty"`
}

type pythonResult struct {
	Fault string `json:"fault"` // "" if the file has no fault
}

func tensorOf(a operator.Argument, file string) pythonTensor {
	shape := a.Shape
	if shape == nil {
		shape = []int64{}
	}
	return pythonTensor{Name: a.Name, Type: a.Type.NumPy(), Shape: shape, Order: a.Axes(), File: file}
}

func runPython(ctx context.Context, q Question, dir string) error {
	work, err := os.MkdirTemp(dir, "python-")
	if err != nil {
		return fmt.Errorf("a folder for the Python file: %w", err)
	}
	defer os.RemoveAll(work)
	j, err := q.job(ctx, work)
	if err != nil {
		return err
	}
	if err := j.run(ctx, q, work); err != nil {
		return err
	}
	at := 0
	for _, a := range q.Problem.Arguments {
		if !a.Role.Compared() {
			continue
		}
		file := j.Outputs[at].File
		at++
		if name := filepath.Join(dir, Name(a)); Name(a) != "" {
			if err := place(file, name, a); err != nil {
				return fmt.Errorf("what %s gives for %s: %w", j.File, a.Name, err)
			}
		}
	}
	return nil
}

func place(from, path string, a operator.Argument) error {
	if a.Type.InNumPy() {
		return os.Rename(from, path)
	}
	return convertFile(path, from, 4*a.Elements, a.Type, narrow)
}

func (q Question) job(ctx context.Context, dir string) (pythonJob, error) {
	source := q.Problem.Operator.Answers.Python
	j := pythonJob{
		Source: source.Text, File: source.File, Function: operator.PythonFunction, Values: q.Problem.Values,
		Arguments: []pythonTensor{},
	}
	files, err := q.Write(ctx, dir)
	if err != nil {
		return j, err
	}
	for i, a := range q.Problem.Arguments {
		switch {
		case a.Role == operator.Scalar:
			t := tensorOf(a, "")
			t.Value = &q.Problem.Arguments[i].Value
			j.Arguments = append(j.Arguments, t)
		case a.Role.Filled():
			file := files[i]
			if !a.Type.InNumPy() && a.Elements > 0 {
				file = filepath.Join(dir, a.Name+".wide")
				if err := convertFile(file, files[i], a.Bytes(), a.Type, widen); err != nil {
					return j, err
				}
			}
			j.Arguments = append(j.Arguments, tensorOf(a, file))
		}
		if a.Role.Compared() {
			j.Outputs = append(j.Outputs, tensorOf(a, filepath.Join(dir, a.Name+".answer")))
		}
	}
	return j, nil
}

func (j pythonJob) run(ctx context.Context, q Question, dir string) error {
	limit := time.Duration(q.Problem.Operator.Answers.Seconds) * time.Second
	var result pythonResult
	err := python.Program{Code: driver, Dir: dir, Limit: limit}.Run(ctx, j, &result)
	var ended *python.EndedError
	switch {
	case errors.Is(err, python.ErrMissing):
		return fault(q, "is a Python file, and %v: install it, with NumPy", err)
	case errors.Is(err, python.ErrTime):
		return fault(q, "did not end: %s was killed after %v; a line `SECONDS = 600` in it gives it more", j.File, limit)
	case errors.As(err, &ended):
		return fault(q, "fails: %s %v", j.File, ended)
	case err != nil:
		return err
	case result.Fault != "":
		return fault(q, "fails: %s", output.Line(result.Fault))
	}
	return nil
}
