package main

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/device"
	"autotune/internal/lists"
	"autotune/operator"
	"autotune/reports/export"
	"autotune/tuner/devices"
	"autotune/tuner/strategy"
)

// helpPage is a page of 80 columns, in urfave/cli's template language.
const helpPage = `{{wrap (printf "%s: %s" .HelpName .Usage) 0}}

  {{if .UsageText}}{{.UsageText}}{{else}}{{.HelpName}}{{with .ArgsUsage}} {{.}}{{end}}{{if .Flags}} [FLAGS]{{end}}{{end}}
{{with .Description}}
{{wrap . 0}}
{{end}}{{range groups .Subcommands}}
{{.Name}}:
{{range .Commands}}  {{printf "%-10s" .Name}}  {{wrap .Usage 14}}
{{end}}{{end}}{{with .Flags}}
Flags:
{{range .}}  {{printf "%-22s" (term .)}}  {{wrap (meaning .) 26}}
{{end}}{{end}}{{with examples .HelpName}}
Examples:
{{range .}}  {{.}}
{{end}}{{end}}`

const programDescription = "`autotune help COMMAND` tells more about one. An operator is a name that `autotune ops` " +
	"lists, a folder with an op.yaml, or one .cu file that `autotune init` begins.\n\nExit codes: 0 found, 1 no valid " +
	"variant, 2 bad input, 3 device trouble, 130 interrupted."

// printHelp prints the page of the command that the line names. Words after a command that has no commands of its own
// are its arguments.
func printHelp(w io.Writer, l *commandLine) error {
	var page bytes.Buffer
	cli.HelpPrinterCustom(&page, helpPage, l.command, map[string]any{
		"wrapAt":   func() int { return 80 },
		"groups":   groups,
		"term":     func(f cli.Flag) string { return cli.FlagNamePrefixer(f.Names(), valueName(f)) },
		"meaning":  meaning,
		"examples": func(command string) []string { return examples[command] },
	})
	_, err := w.Write(page.Bytes())
	return err
}

type group struct {
	Name     string
	Commands []*cli.Command
}

func groups(commands []*cli.Command) (all []group) {
	for _, c := range commands {
		if len(all) == 0 || all[len(all)-1].Name != cmp.Or(c.Category, "Commands") {
			all = append(all, group{Name: cmp.Or(c.Category, "Commands")})
		}
		all[len(all)-1].Commands = append(all[len(all)-1].Commands, c)
	}
	return all
}

// valueName is what a flag's value is called: what its usage has in backquotes
// first, as package flag has it, or else the flag's name. A switch has none.
func valueName(f cli.Flag) string {
	doc := f.(cli.DocGenerationFlag)
	if !doc.TakesValue() {
		return ""
	}
	if _, rest, ok := strings.Cut(doc.GetUsage(), "`"); ok {
		name, _, _ := strings.Cut(rest, "`")
		return name
	}
	return strings.ToUpper(f.Names()[0])
}

func meaning(f cli.Flag) string {
	doc := f.(cli.DocGenerationFlag)
	usage := strings.Replace(doc.GetUsage(), "`", "", 2)
	switch text := strings.Trim(doc.GetDefaultText(), `"`); text {
	case "", "0", "0s", "false":
		return usage
	default:
		return usage + " (default " + text + ")"
	}
}

// examples are command lines that a help page shows, by command.
var examples = map[string][]string{
	"autotune search": {
		"autotune search conv2d --shape 16x16x1024x1024",
		"autotune search max_pool2d --shape 1x2x20x20 --set kernel=3 --device emulator",
		"autotune search conv2d --shape 1x4x32x32 --template direct --where 'vec == 4'",
	},
	"autotune capture":    {"autotune capture -o problems.yaml -- python3 train.py"},
	"autotune best":       {"autotune best conv2d --shape 16x16x1024x1024"},
	"autotune export":     {"autotune export conv2d --shape 16x16x1024x1024 -o best.json"},
	"autotune ops show":   {"autotune ops show conv2d"},
	"autotune ops editor": {"autotune ops editor templates/conv2d > templates/conv2d/compile_commands.json"},
	"autotune space":      {"autotune space conv2d --shape 16x16x1024x1024 --sample 5", "autotune space --file space.json"},
	"autotune verify": {
		"autotune verify conv2d --shape 1x4x12x12 --sanitize",
		"autotune verify conv2d --shape 1x4x12x12 --template direct --schedules 8",
	},
	"autotune cache rm":   {"autotune cache rm conv2d"},
	"autotune completion": {"source <(autotune completion bash)", "autotune completion fish | source"},
}

// example is a command line that shows how a command is used.
func example(command string) string {
	if lines := examples[command]; len(lines) > 0 {
		return lines[0]
	}
	return command + " conv2d"
}

// The scripts ask this program for the words that may come next, so they know
// operators, parameters and strategies as well as flags. Where it has none to
// offer, they complete file names.
//
//go:embed completion
var completionScripts embed.FS

var shells = []string{"bash", "zsh", "fish"}

func completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print a shell's completion script",
		ArgsUsage: strings.Join(shells, "|"),
		Action: action(func(_ context.Context, l line) error {
			const hint = "bash, zsh or fish, as in: source <(autotune completion bash)"
			if l.first() == "" {
				return errors.New("which shell? " + hint)
			}
			script, err := completionScripts.ReadFile("completion/autotune." + l.first())
			if err != nil {
				return fmt.Errorf("no completion for shell %q; want %s", l.first(), hint)
			}
			_, err = stdout.Write(script)
			return err
		}),
	}
}

// completeWord is the first argument of completion scripts. They ask for the words that
// may stand where the last of the other arguments does.
const completeWord = "__complete"

// printCandidates prints them, one a line; nothing where a file's name belongs.
func printCandidates(w io.Writer, app *cli.App, words []string) error {
	if len(words) == 0 {
		words = []string{""}
	}
	typed := words[len(words)-1]
	for _, candidate := range candidates(readArguments(app, words[:len(words)-1]), typed) {
		if strings.HasPrefix(candidate, typed) {
			if _, err := fmt.Fprintln(w, candidate); err != nil {
				return err
			}
		}
	}
	return nil
}

// candidates are the words that may follow the line. Of the last one, a part is typed.
func candidates(before *commandLine, typed string) []string {
	command := before.command
	switch {
	case before.open != "":
		return flagValues(before.open, before.arguments)
	case strings.HasPrefix(typed, "-"):
		return append(flagNames(command.Flags), "--help")
	case len(command.Subcommands) > 0:
		return commandNames(command.Subcommands)
	case command.Name == "completion":
		return shells
	case strings.Contains(command.ArgsUsage, "OPERATOR") && operatorIn(before.arguments) == "":
		return operator.OperatorNames()
	}
	return nil
}

// flagWords are the words that some flags' values may be.
var flagWords = map[string]func() []string{
	"device":   deviceWords,
	"l2":       func() []string { return device.L2Words },
	"launch":   func() []string { return device.LaunchWords },
	"math":     func() []string { return []string{"auto", "fp32", "tf32", "tf32_even"} },
	"color":    func() []string { return colorWords },
	"strategy": strategy.Names,
	"baseline": baselineWords,
	"inputs":   operator.Distributions,
	"format":   export.Names,
}

func flagValues(flag string, before []string) []string {
	if words := flagWords[flag]; words != nil {
		return words()
	}
	return operatorWords(flag, operatorIn(before))
}

func deviceWords() []string {
	return lists.Of(devices.Forms(), func(form string) string {
		if name, _, more := strings.Cut(form, ":"); more {
			return name + ":"
		}
		return form
	})
}

func operatorIn(words []string) string {
	for _, word := range words {
		if slices.Contains(operator.OperatorNames(), word) {
			return word
		}
	}
	return ""
}

// operatorWords are the words of an operator with which a flag's value may begin. In
// --where they are its tunables, and what problems and devices give.
func operatorWords(flag, name string) []string {
	op, err := operator.Find(name)
	if err != nil {
		return nil // completion has nowhere to complain
	}
	var words []string
	switch flag {
	case "set":
		words = append(words, lists.Of(op.Parameters, func(p operator.ParameterSpec) string { return p.Name + "=" })...)
	case "template":
		words = append(words, lists.Of(op.Templates, func(t *operator.Template) string { return t.Name })...)
	case "config":
		words = append(words, lists.Of(op.Templates, func(t *operator.Template) string { return "template=" + t.Name + "," })...)
	case "where":
		words = slices.Concat(op.Shape, operator.LimitNames())
		for _, p := range op.Parameters {
			words = append(words, p.Names...)
		}
		for _, t := range op.Templates {
			for _, tunable := range t.Tunables {
				words = append(words, tunable.Name)
			}
		}
		slices.Sort(words)
	}
	return slices.Compact(words)
}
