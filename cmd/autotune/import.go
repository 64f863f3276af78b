package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"autotune/device/recording"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/operator/tree"
)

type importFlags struct {
	problem          problemFlags
	template, output string
}

func importCommand() *cli.Command {
	var f importFlags
	return command("import FILE [OPERATOR]", "bring a search from another autotuning tool",
		"A Kernel Tuner cache or T4 results become a recording, of OPERATOR if one is named. What has no "+
			"equivalent is named on standard error.",
		f.importFile, append(f.problem.flags(),
			textFlag(&f.template, "template", "", "the trials' template, by `NAME` (default: the only one)"),
			textFlag(&f.output, "output", "", "`FILE` or folder to write the recording to", "o"))...)
}

func (f *importFlags) importFile(ctx context.Context, l line) error {
	if len(l.arguments) < 1 || len(l.arguments) > 2 {
		return errors.New("name one file, as in: autotune import cache.json; and the operator that a cache is of, if that " +
			"has another name")
	}
	path := l.first()
	r, err := recording.LoadAny(ctx, path)
	if err != nil {
		return err
	}
	problem, op, template, err := f.recordedProblem(l, r)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	at := time.Now()
	if info, err := os.Stat(path); err == nil {
		at = info.ModTime()
	}
	limits := operator.TypicalLimits()
	notes := []string{fmt.Sprintf("%s does not tell the device's limits: those of an sm_90 GPU are taken", path)}
	if template != nil && len(r.Trials) > 0 {
		for _, name := range recording.Untold(op, template, r.Trials[0]) {
			notes = append(notes, fmt.Sprintf("%s: template %s has no tunable `%s`", path, template.Name, name))
		}
	}
	if err := r.Adopt(problem, op, template, limits, at); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	r.Metadata.Tool = tool()
	to := f.output
	if info, err := os.Stat(to); to == "" || err == nil && info.IsDir() {
		to = filepath.Join(to, recording.FileName(r.Metadata))
	}
	if err := recording.Write(to, *r); err != nil {
		return err
	}
	tellAll(notes)
	_, err = fmt.Fprintf(stdout, "wrote %s of %s on %s to %s\n", output.Count(len(r.Trials), "trial"),
		r.Metadata.Problem.Text, r.Metadata.Device.Name, to)
	return err
}

// recordedProblem returns the problem that a recording's trials belong to. If the command line names no operator, the
// recorded kernel's name becomes the problem's name, and the results op and template are nil.
func (f *importFlags) recordedProblem(l line, r *recording.Recording) (problem operator.ProblemRecord,
	op *operator.Operator, template *operator.Template, err error) {
	shape := cmp.Or(f.problem.shape, operator.FormatShape(r.Metadata.Problem.Shape))
	if len(l.arguments) < 2 {
		name := r.Metadata.Problem.Operator
		if !tree.IsName(name) || shape == "" {
			return problem, nil, nil, errors.New("it does not tell the kernel and the size of the problem; name the operator " +
				"and its --shape, as in: autotune import FILE ./op --shape 4096x4096")
		}
		dims, err := operator.ParseShape(shape)
		p := operator.Problem{Operator: &operator.Operator{Name: name}, Shape: dims, Math: "fp32"}
		return p.Record(), nil, nil, err
	}
	if op, err = findOperator(l.arguments[1]); err != nil {
		return problem, nil, nil, err
	}
	f.problem.shape = shape
	request, err := f.problem.request(op, nil)
	if err != nil {
		return problem, nil, nil, err
	}
	p, err := op.Bind(request, operator.TypicalLimits())
	if err != nil {
		return problem, nil, nil, err
	}
	template, err = recording.TemplateOf(op, f.template)
	return p.Record(), op, template, err
}
