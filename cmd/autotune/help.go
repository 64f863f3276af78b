package main

import (
	"bytes"
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

// helpPage is a page of 80 columns, in urfave/cli's template language.
const helpPage = `{{wrap (printf "%s: %s" .HelpName .Usage) 0}}

  {{if .UsageText}}{{.UsageText}}{{else}}{{.HelpName}}{{with .ArgsUsage}} {{.}}{{end}}{{if .Flags}} [FLAGS]{{end}}{{end}}
{{with .Description}}
{{wrap . 0}}
{{end}}{{with .Subcommands}}
Commands:
{{range .}}  {{printf "%-10s" .Name}}  {{wrap .Usage 14}}
{{end}}{{end}}{{with .Flags}}
Flags:
{{range .}}  {{printf "%-22s" (term .)}}  {{wrap (meaning .) 26}}
{{end}}{{end}}{{with examples .HelpName}}
Examples:
{{range .}}  {{.}}
{{end}}{{end}}`

const programDescription = "`autotune help COMMAND` tells more about one. An operator is a name that `autotune ops` lists, a folder with an op.yaml, or one .cu file that `autotune init` begins.\n\n" +
	"Exit codes: 0 found, 1 no valid variant, 2 bad input, 3 device trouble, 130 interrupted."

// printHelp prints the page of the command that the line names. Words after a
// command that has no commands of its own are its arguments.
func printHelp(w io.Writer, l *commandLine) error {
	if len(l.command.Subcommands) > 0 && len(l.arguments) > 0 {
		return unknownCommand(l.command, l.arguments[0])
	}
	var page bytes.Buffer
	cli.HelpPrinterCustom(&page, helpPage, l.command, map[string]any{
		"wrapAt":   func() int { return 80 },
		"term":     func(f cli.Flag) string { return cli.FlagNamePrefixer(f.Names(), valueName(f)) },
		"meaning":  meaning,
		"examples": func(command string) []string { return examples[command] },
	})
	_, err := w.Write(page.Bytes())
	return err
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

// meaning is what a flag does, and its default.
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
	"autotune best":       {"autotune best conv2d --shape 16x16x1024x1024"},
	"autotune export":     {"autotune export conv2d --shape 16x16x1024x1024 -o best.json"},
	"autotune ops show":   {"autotune ops show conv2d"},
	"autotune ops editor": {"autotune ops editor templates/conv2d > templates/conv2d/compile_commands.json"},
	"autotune ops schema": {"autotune ops schema > op.schema.json"},
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
