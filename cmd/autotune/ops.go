package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/tuner/operator"
)

func opsCommand() *cli.Command {
	return &cli.Command{
		Name:      "ops",
		Usage:     "list the operators, or show one",
		ArgsUsage: "[show OPERATOR]",
		Action:    opsAction,
		Subcommands: []*cli.Command{{
			Name: "show", Usage: "an operator's shape, parameters and templates", ArgsUsage: "OPERATOR",
			Action: opsShowAction,
		}},
	}
}

func opsAction(c *cli.Context) error {
	if c.Args().Present() {
		return badInput(fmt.Errorf("unknown command \"ops %s\"; want `autotune ops` or `autotune ops show OPERATOR`", c.Args().First()))
	}
	all, err := operator.Operators()
	if err != nil {
		return err
	}
	w := columns(c.App.Writer)
	for _, op := range all {
		fmt.Fprintf(w, "%s\t--shape %s\t%s\n", op.Name, strings.Join(op.Shape, "x"), op.Summary)
	}
	return w.Flush()
}

func opsShowAction(c *cli.Context) error {
	op, err := operatorArgument(c)
	if err != nil {
		return err
	}
	return showOperator(c.App.Writer, op)
}

func showOperator(out io.Writer, op *operator.Operator) error {
	fmt.Fprintf(out, "%s: %s\n\n--shape %s\n", op.Name, op.Summary, strings.Join(op.Shape, "x"))
	w := columns(out)
	for _, p := range op.Parameters {
		fmt.Fprintf(w, "--set %s=%s\t%s\n", p.Name, strings.ToUpper(string(p.Type)), describe(p))
	}
	if len(op.MathModes) > 1 {
		fmt.Fprintf(w, "--math %s\tauto: %s\n", strings.Join(op.MathModes, "|"), op.MathAuto)
	}
	w.Flush()
	if len(op.Preset) > 0 {
		fmt.Fprintf(out, "without any --set: %s\n", assigned(op.Preset))
	}
	for _, t := range op.Templates {
		showTemplate(out, t)
	}
	return nil
}

// describe says what a parameter means and what it is when not set.
func describe(p operator.ParameterSpec) string {
	var notes []string
	if p.Summary != "" {
		notes = append(notes, p.Summary)
	}
	switch len(p.Suffix) {
	case 2:
		notes = append(notes, "3 or 3x5")
	case 3:
		notes = append(notes, "3 or 3x5x7")
	}
	if p.Default == nil {
		return strings.Join(append(notes, "required"), "; ")
	}
	text := p.Default.Text
	if p.Type == operator.BoolParameter {
		text = strings.ToLower(text) // as --set takes it
	}
	return strings.Join(append(notes, "default "+text), "; ")
}

func assigned(values map[string]string) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		pairs = append(pairs, name+"="+values[name])
	}
	return strings.Join(pairs, " ")
}

func showTemplate(out io.Writer, t *operator.Template) {
	fmt.Fprintf(out, "\ntemplate %s\n", t.Name)
	if t.Summary != "" {
		fmt.Fprintf(out, "  %s\n", t.Summary)
	}
	w := columns(out)
	for _, tunable := range t.Tunables {
		var values []string
		for _, v := range tunable.Values {
			values = append(values, v.String())
		}
		fmt.Fprintf(w, "  %s\t%s\n", tunable.Name, strings.Join(values, " "))
	}
	w.Flush()
	for _, constraint := range t.Constraints {
		fmt.Fprintf(out, "  where %s\n", constraint)
	}
	if t.When != nil {
		fmt.Fprintf(out, "  serves %s\n", t.When)
	}
}
