package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"autotune/device/recording"
	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/operator/tree"
)

func importCommand() *cli.Command {
	return &cli.Command{
		Name:        "import",
		Usage:       "bring a search from another autotuning tool",
		ArgsUsage:   "FILE [OPERATOR]",
		Description: "A Kernel Tuner cache or T4 results become a recording, of OPERATOR if one is named. What has no equivalent is named on standard error.",
		Flags: slices.Concat(problemFlags(), []cli.Flag{
			&cli.StringFlag{Name: "template", Usage: "`NAME` of the template of OPERATOR that the trials are of (default: the one with their tunables)"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "`FILE` or folder to write the recording to"},
		}),
		Action: importAction,
	}
}

func importAction(c *cli.Context) error {
	if c.NArg() < 1 || c.NArg() > 2 {
		return errors.New("name one file, as in: autotune import cache.json; and the operator that a cache is of, if that has another name")
	}
	path := c.Args().First()
	return importRecording(c, path)
}

// importRecording makes a recording of what another tool recorded.
func importRecording(c *cli.Context, path string) error {
	r, err := recording.LoadAny(c.Context, path)
	if err != nil {
		return err
	}
	problem, op, template, err := recordedProblem(c, r)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	at := time.Now()
	if info, err := os.Stat(path); err == nil {
		at = info.ModTime()
	}
	limits := operator.TypicalLimits()
	notes := []string{fmt.Sprintf("%s does not tell the device's limits: those of an sm_90 GPU are taken", path)}
	if r.Interrupted {
		notes = append(notes, fmt.Sprintf("%s ends in the middle: what is whole is taken", path))
	}
	for _, key := range r.Untaken {
		notes = append(notes, fmt.Sprintf("%s: `%s` of the results has no equivalent", path, key))
	}
	if template != nil && len(r.Trials) > 0 {
		_, more := tells(op, template, r.Trials[0])
		for _, name := range more {
			notes = append(notes, fmt.Sprintf("%s: template %s has no tunable `%s`", path, template.Name, name))
		}
	}
	if err := r.Adopt(problem, op, template, limits, at); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	r.Metadata.Tool = tool()
	to := c.String("output")
	if info, err := os.Stat(to); to == "" || err == nil && info.IsDir() {
		to = filepath.Join(to, recording.FileName(r.Metadata))
	}
	if err := recording.Write(to, *r); err != nil {
		return err
	}
	tell(notes)
	_, err = fmt.Fprintf(c.App.Writer, "wrote %s of %s on %s to %s\n", output.Count(len(r.Trials), "trial"), r.Metadata.Problem.Text, r.Metadata.Device.Name, to)
	return err
}

// recordedProblem is the problem that trials are of: of the operator that the command
// names, or one that bears the kernel's name. op and template are nil without the first.
func recordedProblem(c *cli.Context, r *recording.Recording) (problem operator.ProblemRecord, op *operator.Operator, template *operator.Template, err error) {
	shape := cmp.Or(c.String("shape"), operator.FormatShape(r.Metadata.Problem.Shape))
	if c.NArg() < 2 {
		name := r.Metadata.Problem.Operator
		if !tree.IsName(name) || shape == "" {
			return problem, nil, nil, errors.New("it does not tell the kernel and the size of the problem; name the operator and its --shape, as in: autotune import FILE ./op --shape 4096x4096")
		}
		dims, err := operator.ParseShape(shape)
		p := operator.Problem{Operator: &operator.Operator{Name: name}, Shape: dims, Math: "fp32"}
		return p.Record(), nil, nil, err
	}
	if op, err = findOperator(c.Args().Get(1)); err != nil {
		return problem, nil, nil, err
	}
	request, err := requestOf(c, op, shape)
	if err != nil {
		return problem, nil, nil, err
	}
	p, err := op.Bind(operator.Request{Shape: request.Shape, Parameters: request.Parameters, Math: request.Math, Free: request.Free}, operator.TypicalLimits())
	if err != nil {
		return problem, nil, nil, err
	}
	template, err = recordedTemplate(c, op, r)
	return p.Record(), op, template, err
}

// recordedTemplate is the template that trials are of: the one that the command names,
// or the only one all of whose tunables they tell.
func recordedTemplate(c *cli.Context, op *operator.Operator, r *recording.Recording) (*operator.Template, error) {
	if name := c.String("template"); name != "" {
		names := lists.Of(op.Templates, func(t *operator.Template) string { return t.Name })
		t, _ := op.Template(name)
		return t, oneOf("template", name, names)
	}
	if len(op.Templates) == 1 || len(r.Trials) == 0 {
		return op.Templates[0], nil
	}
	var fitting []string
	var found *operator.Template
	for _, t := range op.Templates {
		if missing, more := tells(op, t, r.Trials[0]); len(missing)+len(more) == 0 {
			fitting, found = append(fitting, t.Name), t
		}
	}
	if len(fitting) != 1 {
		return nil, fmt.Errorf("%d templates of %s have the tunables of the trials; name one with --template", len(fitting), op.Name)
	}
	return found, nil
}

// tells compares the tunables of a trial with a template's: those that it lacks, and
// those that it has more.
func tells(op *operator.Operator, t *operator.Template, x trial.Trial) (missing, more []string) {
	known := map[string]bool{}
	for _, tunable := range t.Tunables {
		_, own := x.Get(tunable.Name)
		macro := op.Macros.Macro(tunable.Name)
		if _, ok := x.Get(macro); !ok && !own {
			missing = append(missing, tunable.Name)
		}
		known[tunable.Name], known[macro] = true, true
	}
	for _, v := range x.Values {
		if !known[v.Name] {
			more = append(more, v.Name)
		}
	}
	return missing, more
}
