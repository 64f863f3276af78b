package main

import (
	"context"
	_ "embed"
	"errors"
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
	"autotune/operator/tree"
	"autotune/reports"
	"autotune/space"
)

func opsCommand() *cli.Command {
	var json string
	var all bool
	c := command("ops [WORD]", "list the operators, or show one",
		"With a WORD, lists the operators that have it in their name or summary.",
		func(_ context.Context, l line) error { return listOps(l, json) }, jsonFlag(&json))
	c.Subcommands = []*cli.Command{
		command("show OPERATOR", "an operator's shape, parameters and templates", "",
			func(_ context.Context, l line) error { return showOp(l, json, all) },
			jsonFlag(&json),
			boolFlag(&all, "all", "all definitions, tunables and constraints, also where two screens do not hold them")),
		opsCallsCommand(), opsEditorCommand(),
	}
	return c
}

func listOps(l line, json string) error {
	if len(l.arguments) > 1 {
		return fmt.Errorf("one word at a time; got %s", strings.Join(l.arguments, " "))
	}
	all, err := operator.Operators()
	if err != nil {
		return err
	}
	word := strings.ToLower(l.first())
	all = slices.DeleteFunc(all, func(op *operator.Operator) bool {
		return !strings.Contains(strings.ToLower(op.Name+" "+op.Summary), word)
	})
	if len(all) == 0 {
		return fmt.Errorf("no operator has %q in its name or summary; `autotune ops` lists all, `autotune ops show "+
			"OPERATOR` shows one", word)
	}
	return writeDocument(json, all, listOperators(all))
}

func listOperators(all []*operator.Operator) string {
	var text strings.Builder
	for _, op := range all {
		fmt.Fprintf(&text, "%s\t¦%s: %s\n", op.Name, shapeForm(op), op.Summary)
	}
	return layout(text.String())
}

// layout formats a text in 80 columns. Tabs separate cells, which are aligned across neighbouring lines. layout wraps
// text after a ¦, and indents the further lines to the column in which the text began.
func layout(text string) string {
	var aligned, page strings.Builder
	w := columns(&aligned)
	io.WriteString(w, text) // neither writer can fail
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

// shapeForm shows how an operator's shape is written, with the dimensions in upper case: NxCxHxW.
func shapeForm(op *operator.Operator) string {
	return strings.ReplaceAll(strings.ToUpper(strings.Join(op.Shape, " ")), " ", "x")
}

// operatorPage is the page that shows an operator, as a template of text/template.
//
//go:embed pages/operator.txt
var operatorPage string

// mostShown is the number of lines, about two screens, above which an operator's page is shortened without --all.
const mostShown = 80

func showOp(l line, json string, all bool) error {
	op, err := operatorArgument(l)
	if err != nil {
		return err
	}
	text, err := showOperator(op, true)
	if err == nil && !all && strings.Count(text, "\n") > mostShown {
		text, err = showOperator(op, false)
	}
	if err != nil {
		return err
	}
	return writeDocument(json, op, text)
}

func operatorArgument(l line) (*operator.Operator, error) {
	if len(l.arguments) == 0 {
		return nil, fmt.Errorf("which operator? `autotune ops` lists them; as in: %s", example(l.command))
	}
	if len(l.arguments) > 1 {
		if second := l.arguments[1]; len(l.arguments) == 2 && strings.ContainsAny(second, "0123456789") {
			if _, err := operator.ParseShape(second); err == nil {
				return nil, fmt.Errorf("a shape is given with its flag: %s --shape %s", l.first(), second)
			}
		}
		return nil, fmt.Errorf("one operator at a time; got %s", strings.Join(l.arguments, " "))
	}
	op, err := findOperator(l.first())
	if err != nil {
		return nil, err
	}
	return op.AsNamed(true), nil
}

func findOperators(names []string) (all []*operator.Operator, err error) {
	for _, name := range names {
		op, err := findOperator(name)
		if err != nil {
			return nil, badInput(err)
		}
		all = append(all, op)
	}
	return all, nil
}

// findOperator loads a built-in operator, an operator in a folder, or one in a single .cu file. A word with a slash or
// a dot names a folder or file; so does a word that is no built-in operator.
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
	folder, file := name, ""
	switch {
	case info.IsDir():
	case filepath.Ext(name) == ".cu":
		if name, err = filepath.EvalSymlinks(name); err != nil {
			return nil, fmt.Errorf("no operator at %s: %w", name, err)
		}
		folder, file = filepath.Dir(name), filepath.Base(name)
	default:
		return nil, fmt.Errorf("no operator at %s: it is a file; name the folder with the op.yaml, or a .cu file that "+
			"describes itself", name)
	}
	fsys, err := operator.OpenFolder(folder)
	if err != nil {
		return nil, fmt.Errorf("no operator at %s: %w", name, err)
	}
	op, err := operator.LoadFile(fsys, ".", file)
	var fault *tree.Error
	if errors.As(err, &fault) {
		fault.File = filepath.Join(folder, fault.File)
	}
	return op, err
}

// showOperator returns an operator's page: the whole page if all is set, otherwise only what a user must know.
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

func join(list any, separator string) string {
	items, words := reflect.ValueOf(list), []string(nil)
	for i := range items.Len() {
		words = append(words, fmt.Sprint(items.Index(i).Interface()))
	}
	return strings.Join(words, separator)
}

// launchesTold reports whether an operator's page must describe the launches of a template, because they are more than
// one plain grid of blocks.
func launchesTold(t *operator.Template) bool {
	one := t.Launches[0]
	return len(t.Launches) > 1 || one.Cluster != nil || !one.Cooperative.IsZero()
}

// opsEditorCommand prints compile_commands.json, from which clangd and editors learn how kernels are compiled.
func opsEditorCommand() *cli.Command {
	return command("editor FOLDER...", "compile commands that let an editor read the kernels of operators",
		"Prints a compile_commands.json: for each CUDA file the macros of its template's default, for the "+
			"operator's example. Kernels take their sizes and tunables from macros, so an editor needs values to show one as "+
			"a compiler sees it. Put the file into the folder, or into one above it.",
		editor)
}

type compileCommand struct {
	Directory string   `json:"directory"`
	File      string   `json:"file"`
	Arguments []string `json:"arguments"`
}

func editor(_ context.Context, l line) error {
	if len(l.arguments) == 0 {
		return fmt.Errorf("which folder? Name one with an op.yaml, as in: %s", example(l.command))
	}
	commands := []compileCommand{}
	for _, name := range l.arguments {
		more, err := compileCommands(name)
		if err != nil {
			return err
		}
		commands = append(commands, more...)
	}
	return printJSON(stdout, commands)
}

// compileCommands returns the commands for an operator's files, in its folder or in the folder `include` next to it.
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

func arguments(k operator.Kernel, file string, folders ...string) []string {
	all := []string{"clang++", "-xcuda", "--cuda-gpu-arch=sm_90a", "--cuda-device-only", "-std=c++17"}
	all = append(all, lists.Of(folders, func(folder string) string { return "-I" + folder })...)
	all = append(all, lists.Of(k.Macros, func(m operator.Macro) string { return "-D" + m.Name + "=" + m.Value })...)
	return append(all, "-c", file)
}
