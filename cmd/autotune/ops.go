package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"autotune/reports"
	"autotune/tuner/operator"
)

func opsCommand() *cli.Command {
	return &cli.Command{
		Name:        "ops",
		Usage:       "list the operators, or show one",
		ArgsUsage:   "[WORD | show OPERATOR | editor FOLDER... | schema]",
		Description: "With a WORD, lists the operators that have it in their name or summary.",
		Flags:       []cli.Flag{jsonFlag()},
		Action:      opsAction,
		Subcommands: []*cli.Command{{
			Name: "show", Usage: "an operator's shape, parameters and templates", ArgsUsage: "OPERATOR",
			Flags:  []cli.Flag{jsonFlag()},
			Action: opsShowAction,
		}, opsEditorCommand(), {
			Name: "schema", Usage: "a JSON Schema that lets an editor complete and check op.yaml",
			Description: "Prints the schema. An editor reads it where the first line of op.yaml names the file: " +
				"# yaml-language-server: $schema=op.schema.json",
			Action: func(c *cli.Context) error { return printJSON(c.App.Writer, operator.NewSchema()) },
		}},
	}
}

func opsAction(c *cli.Context) error {
	if c.NArg() > 1 {
		return badInput(fmt.Errorf("one word at a time; got %s", strings.Join(c.Args().Slice(), " ")))
	}
	all, err := operator.Operators()
	if err != nil {
		return err
	}
	word := strings.ToLower(c.Args().First())
	all = slices.DeleteFunc(all, func(op *operator.Operator) bool {
		return !strings.Contains(strings.ToLower(op.Name+" "+op.Summary), word)
	})
	if len(all) == 0 {
		return badInput(fmt.Errorf("no operator has %q in its name or summary; `autotune ops` lists all, `autotune ops show OPERATOR` shows one", word))
	}
	return writeDocument(c, all, func(out io.Writer) error { return listOperators(out, all) })
}

func listOperators(out io.Writer, all []*operator.Operator) error {
	var terms, meanings []string
	width := 0
	for _, op := range all {
		width = max(width, len(op.Name))
	}
	for _, op := range all {
		terms = append(terms, fmt.Sprintf("%-*s  --shape %s", width, op.Name, shapeForm(op)))
		meanings = append(meanings, op.Summary)
	}
	return define(out, terms, meanings)
}

// define writes terms in one column and what they mean, wrapped, in another.
func define(out io.Writer, terms, meanings []string) error {
	width := 0
	for _, term := range terms {
		width = max(width, utf8.RuneCountInString(term))
	}
	for i, term := range terms {
		if err := hang(out, fmt.Sprintf("%-*s  ", width, term), meanings[i]); err != nil {
			return err
		}
	}
	return nil
}

// hang writes a text behind a label, wrapped.
func hang(out io.Writer, label, text string) error {
	_, err := io.WriteString(out, reports.Hang(label, text))
	return err
}

// shapeForm is how an operator's shape is given, with its dimensions in upper
// case: NxCxHxW.
func shapeForm(op *operator.Operator) string {
	names := make([]string, len(op.Shape))
	for i, name := range op.Shape {
		names[i] = strings.ToUpper(name)
	}
	return strings.Join(names, "x")
}

func opsShowAction(c *cli.Context) error {
	op, err := operatorArgument(c)
	if err != nil {
		return err
	}
	return writeDocument(c, op, func(out io.Writer) error { return showOperator(out, op) })
}

func showOperator(out io.Writer, op *operator.Operator) error {
	hang(out, op.Name+": ", op.Summary)
	fmt.Fprintf(out, "\n--shape %s\n", shapeForm(op))
	var terms, meanings []string
	for _, p := range op.Parameters {
		terms = append(terms, fmt.Sprintf("--set %s=%s", p.Name, strings.ToUpper(string(p.Type))))
		meanings = append(meanings, describe(p))
	}
	if len(op.MathModes) > 1 {
		terms = append(terms, "--math "+strings.Join(op.MathModes, "|"))
		meanings = append(meanings, fmt.Sprintf("auto: %s", op.MathAuto))
	}
	define(out, terms, meanings)
	if len(op.Preset) > 0 {
		hang(out, "without any --set: ", assigned(op.Preset))
	}
	showArguments(out, op)
	showRight(out, op)
	showNames(out, op)
	for _, t := range op.Templates {
		showTemplate(out, t)
	}
	return nil
}

// showArguments tells what the kernels take.
func showArguments(out io.Writer, op *operator.Operator) {
	fmt.Fprintln(out, "\narguments of the kernels")
	name, role := 0, 0
	for _, a := range op.Arguments {
		name, role = max(name, len(a.Name)), max(role, len(a.Role))
	}
	var terms, meanings []string
	for _, a := range op.Arguments {
		element := a.TypeText()
		if a.TypeBy != nil {
			element = "by " + a.TypeBy.Name // which is told above
		}
		terms = append(terms, fmt.Sprintf("  %-*s  %-*s  %s", name, a.Name, role, a.Role, element))
		meanings = append(meanings, describeArgument(a))
	}
	define(out, terms, meanings)
}

// showRight tells what says what is right, where that is not a plain kernel of the
// operator's and a tolerance.
func showRight(out io.Writer, op *operator.Operator) {
	if op.Answers != nil || op.ReferenceTemplate != "" {
		hang(out, "what is right is said by ", op.Right())
	}
	if op.Compare != nil {
		hang(out, "outputs are compared by ", op.Compare.String())
	}
}

// describeArgument says what a tensor's shape is, what it is filled with and how it
// is compared; or what a scalar is.
func describeArgument(a operator.ArgumentSpec) string {
	if a.Role == operator.Scalar {
		return "= " + a.Value.Text
	}
	var shape, notes []string
	for _, dim := range a.Shape {
		shape = append(shape, dim.Text)
	}
	notes = append(notes, "["+strings.Join(shape, ", ")+"]")
	if a.Scale != nil {
		notes = append(notes, "scale "+a.Scale.Text)
	}
	if a.Fill != nil {
		notes = append(notes, "fill "+a.Fill.String())
	}
	if a.Symbol != "" {
		notes = append(notes, "in constant memory as "+a.Symbol)
	}
	if a.Owner != nil {
		notes = append(notes, "for template "+a.Owner.Name)
	}
	if a.ATol.Text != "" {
		notes = append(notes, "atol "+a.ATol.Text)
	}
	if a.RTol.Text != "" {
		notes = append(notes, "rtol "+a.RTol.Text)
	}
	return strings.Join(notes, "; ")
}

// showNames tells what the names mean that stand in constraints and in --where.
func showNames(out io.Writer, op *operator.Operator) {
	fmt.Fprintln(out, "\nnames in expressions")
	hang(out, "  the shape: ", strings.Join(op.Shape, " "))
	var names []string
	for _, p := range op.Parameters {
		names = append(names, p.Components()...)
	}
	if len(names) > 0 {
		hang(out, "  parameters: ", strings.Join(names, " "))
	}
	fmt.Fprintf(out, "  math: %s\n", strings.Join(op.MathModes, " or "))
	w := columns(out)
	for _, name := range operator.LimitNames() {
		fmt.Fprintf(w, "  %s\tof the device: %s\n", name, operator.LimitMeaning(name))
	}
	w.Flush()
	showDefinitions(out, op.Derived)
	if op.SameMacros {
		fmt.Fprintln(out, "  kernels know them as macros of the same names")
	}
	for _, m := range op.Metrics {
		hang(out, "  metric "+m.Name+" = ", fmt.Sprint(m.Formula))
	}
}

func showDefinitions(out io.Writer, list []operator.Definition) {
	for _, d := range list {
		hang(out, "  "+d.Name+" = ", fmt.Sprint(d.Formula))
	}
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
	if len(p.Words) > 0 {
		notes = append(notes, strings.Join(p.Words, " or "))
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

// showLaunches tells how a template's kernels are launched, where there is more to it
// than one grid of blocks.
func showLaunches(out io.Writer, t *operator.Template) {
	if one := t.Launches[0]; len(t.Launches) == 1 && one.Cluster == nil && one.Cooperative.IsZero() {
		return
	}
	for _, l := range t.Launches {
		var notes []string
		if l.Cluster != nil {
			notes = append(notes, fmt.Sprintf("clusters of %s x %s x %s", l.Cluster[0], l.Cluster[1], l.Cluster[2]))
		}
		if !l.Cooperative.IsZero() {
			notes = append(notes, "cooperative: "+l.Cooperative.Text)
		}
		if !l.Dependent.IsZero() {
			notes = append(notes, "dependent: "+l.Dependent.Text)
		}
		if len(l.Arguments) > 0 {
			notes = append(notes, "takes "+strings.Join(l.Arguments, ", "))
		}
		if l.When != nil {
			notes = append(notes, "when "+l.When.Text)
		}
		hang(out, fmt.Sprintf("  launch %s: ", l.Entry), strings.Join(notes, "; "))
	}
}

// sourceOf names a kernel's file, and the files that it has in the place of others.
func sourceOf(s operator.Source) string {
	text := s.File
	for i, name := range slices.Sorted(maps.Keys(s.Headers)) {
		text += []string{" with ", " and "}[min(i, 1)] + s.Headers[name] + " for " + name
	}
	return text
}

func showTemplate(out io.Writer, t *operator.Template) {
	fmt.Fprintf(out, "\ntemplate %s\n", t.Name)
	hang(out, "  ", t.Summary)
	hang(out, "  from ", sourceOf(t.Source))
	w := columns(out)
	for _, tunable := range t.Tunables {
		var values []string
		for _, v := range tunable.Values {
			values = append(values, v.String())
		}
		untuned, _ := t.Default.Get(tunable.Name)
		fmt.Fprintf(w, "  %s\t%s\tdefault %s\n", tunable.Name, strings.Join(values, " "), untuned)
	}
	w.Flush()
	var with []string
	for _, d := range t.With {
		with = append(with, d.Name+"="+d.Formula.Text)
	}
	if len(with) > 0 {
		hang(out, "  with ", strings.Join(with, " "))
	}
	showDefinitions(out, t.Derived)
	for _, constraint := range t.Constraints {
		hang(out, "  where ", fmt.Sprint(constraint))
	}
	if t.Estimate != nil {
		hang(out, "  expected to take ", fmt.Sprint(t.Estimate))
	}
	if t.When != nil {
		hang(out, "  serves ", fmt.Sprint(t.When))
	}
	for _, flag := range t.Flags {
		hang(out, "  compiled with ", flag.Text)
	}
	showLaunches(out, t)
	for _, warning := range t.Warnings() {
		fmt.Fprintf(out, "  warning: %s\n", warning)
	}
}

// opsEditorCommand writes what clangd, and editors that ask it, read kernels with.
func opsEditorCommand() *cli.Command {
	return &cli.Command{
		Name:      "editor",
		Usage:     "compile commands that let an editor read the kernels of operators",
		ArgsUsage: "FOLDER...",
		Description: "Prints a compile_commands.json: for each CUDA file the macros of its template's default, for the operator's example. " +
			"Kernels take their sizes and tunables from macros, so an editor needs values to show one as a compiler sees it. " +
			"Put the file into the folder, or into one above it.",
		Action: opsEditorAction,
	}
}

// compileCommand is an item of a compile_commands.json.
type compileCommand struct {
	Directory string   `json:"directory"`
	File      string   `json:"file"`
	Arguments []string `json:"arguments"`
}

func opsEditorAction(c *cli.Context) error {
	if c.NArg() == 0 {
		return badInput(fmt.Errorf("which folder? Name one with an op.yaml, as in: %s", example(c.Command.HelpName)))
	}
	commands := []compileCommand{}
	for _, name := range c.Args().Slice() {
		more, err := compileCommands(name)
		if err != nil {
			return badInput(err)
		}
		commands = append(commands, more...)
	}
	return printJSON(c.App.Writer, commands)
}

// compileCommands are those of an operator's files, which lie in its folder or in a folder `include`
// beside it.
func compileCommands(name string) ([]compileCommand, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("no folder %s: an editor reads files, so name the folder that they are in", name)
	}
	op, err := findOperator(name)
	if err != nil {
		return nil, err
	}
	kernels, err := op.EditorKernels()
	if err != nil {
		return nil, err
	}
	folder := name
	if !info.IsDir() {
		folder = filepath.Dir(name)
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return nil, err
	}
	shared := filepath.Join(filepath.Dir(folder), "include")
	var commands []compileCommand
	for _, k := range kernels {
		file := filepath.Join(folder, k.File)
		if _, err := os.Stat(file); err != nil {
			file = filepath.Join(shared, k.File)
		}
		commands = append(commands, compileCommand{folder, file, arguments(k, file, folder, shared)})
	}
	return commands, nil
}

// arguments are clang's for one kernel.
func arguments(k operator.Kernel, file string, folders ...string) []string {
	all := []string{"clang++", "-xcuda", "--cuda-gpu-arch=sm_90a", "--cuda-device-only", "-std=c++17"}
	for _, folder := range folders {
		all = append(all, "-I"+folder)
	}
	for _, m := range k.Macros {
		all = append(all, "-D"+m.Name+"="+m.Value)
	}
	return append(all, "-c", file)
}
