package main

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"text/template"

	"github.com/urfave/cli/v2"

	"autotune/internal/lists"
	"autotune/operator"
	"autotune/reports"
	"autotune/space"
)

func opsCommand() *cli.Command {
	return &cli.Command{
		Name:        "ops",
		Usage:       "list the operators, or show one",
		ArgsUsage:   "[WORD | show OPERATOR | calls FILE | editor FOLDER... | schema]",
		Description: "With a WORD, lists the operators that have it in their name or summary.",
		Flags:       []cli.Flag{jsonFlag()},
		Action:      opsAction,
		Subcommands: []*cli.Command{{
			Name: "show", Usage: "an operator's shape, parameters and templates", ArgsUsage: "OPERATOR",
			Flags: []cli.Flag{jsonFlag(),
				&cli.BoolFlag{Name: "all", Usage: "all definitions, tunables and constraints, also where two screens do not hold them"}},
			Action: opsShowAction,
		}, opsCallsCommand(), opsEditorCommand(), {
			Name: "schema", Usage: "a JSON Schema that lets an editor complete and check op.yaml",
			Description: "Prints the schema. An editor reads it where the first line of op.yaml names the file: " +
				"# yaml-language-server: $schema=op.schema.json",
			Action: func(c *cli.Context) error { return printJSON(c.App.Writer, operator.NewSchema()) },
		}},
	}
}

func opsAction(c *cli.Context) error {
	if c.NArg() > 1 {
		return fmt.Errorf("one word at a time; got %s", strings.Join(c.Args().Slice(), " "))
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
		return fmt.Errorf("no operator has %q in its name or summary; `autotune ops` lists all, `autotune ops show OPERATOR` shows one", word)
	}
	return writeDocument(c, all, listOperators(all))
}

// listOperators is a line an operator, or a few.
func listOperators(all []*operator.Operator) string {
	var text strings.Builder
	for _, op := range all {
		fmt.Fprintf(&text, "%s\t¦%s: %s\n", op.Name, shapeForm(op), op.Summary)
	}
	return layout(text.String())
}

// layout sets a text in 80 columns. Tabs part cells, which lines that follow each other have
// under each other. What stands behind a ¦ is wrapped, and its lines hang under each other.
func layout(text string) string {
	var aligned, page strings.Builder
	w := columns(&aligned)
	io.WriteString(w, text) // neither can fail
	w.Flush()
	for line := range strings.Lines(aligned.String()) {
		label, rest, hangs := strings.Cut(strings.TrimRight(line, " \n"), "¦")
		if hangs {
			page.WriteString(reports.Hang(label, rest))
		} else {
			page.WriteString(label + "\n")
		}
	}
	return page.String()
}

// shapeForm is how an operator's shape is given, with its dimensions in upper
// case: NxCxHxW.
func shapeForm(op *operator.Operator) string {
	return strings.ReplaceAll(strings.ToUpper(strings.Join(op.Shape, " ")), " ", "x")
}

// operatorPage shows an operator, in the language of text/template.
//
//go:embed pages/operator.txt
var operatorPage string

// mostShown is how many lines of an operator two screens have. Of one with more, --all shows the rest.
const mostShown = 80

func opsShowAction(c *cli.Context) error {
	op, err := operatorArgument(c)
	if err != nil {
		return err
	}
	text, err := showOperator(op, true)
	if err == nil && !c.Bool("all") && strings.Count(text, "\n") > mostShown {
		text, err = showOperator(op, false)
	}
	if err != nil {
		return err
	}
	return writeDocument(c, op, text)
}

// showOperator tells all of an operator, or what its user must know.
func showOperator(op *operator.Operator, all bool) (string, error) {
	page, err := template.New("operator").Funcs(template.FuncMap{
		"text":  func(x any) string { return strings.Join(strings.Fields(fmt.Sprint(x)), " ") },
		"upper": func(x any) string { return strings.ToUpper(fmt.Sprint(x)) },
		"lower": strings.ToLower, "join": join, "shape": shapeForm,
		"limits": operator.LimitNames, "limitMeaning": operator.LimitMeaning, "launchesTold": launchesTold,
		"value": func(c space.Configuration, tunable string) any { v, _ := c.Get(tunable); return v },
	}).Parse(operatorPage)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	err = page.Execute(&text, struct {
		*operator.Operator
		All bool
	}{op, all})
	return layout(text.String()), err
}

// join writes the items of any list with a separator between them.
func join(list any, separator string) string {
	items, words := reflect.ValueOf(list), []string(nil)
	for i := range items.Len() {
		words = append(words, fmt.Sprint(items.Index(i).Interface()))
	}
	return strings.Join(words, separator)
}

// launchesTold tells whether there is more to a template's launches than one grid of blocks.
func launchesTold(t *operator.Template) bool {
	one := t.Launches[0]
	return len(t.Launches) > 1 || one.Cluster != nil || !one.Cooperative.IsZero()
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
		return fmt.Errorf("which folder? Name one with an op.yaml, as in: %s", example(c.Command.HelpName))
	}
	commands := []compileCommand{}
	for _, name := range c.Args().Slice() {
		more, err := compileCommands(name)
		if err != nil {
			return err
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
	all = append(all, lists.Of(folders, func(folder string) string { return "-I" + folder })...)
	all = append(all, lists.Of(k.Macros, func(m operator.Macro) string { return "-D" + m.Name + "=" + m.Value })...)
	return append(all, "-c", file)
}
