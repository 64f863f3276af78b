package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// pageWidth is how wide help pages are: a terminal of the usual size.
const pageWidth = 80

// examples are command lines that a help page shows, by command.
var examples = map[string][]string{
	"autotune search": {
		"autotune search conv2d --shape 16x16x1024x1024",
		"autotune search max_pool2d --shape 1x2x20x20 --set kernel=3 --device emulator --budget 50",
	},
	"autotune best":       {"autotune best conv2d --shape 16x16x1024x1024"},
	"autotune export":     {"autotune export conv2d --shape 16x16x1024x1024 -o best.json"},
	"autotune ops show":   {"autotune ops show conv2d"},
	"autotune space":      {"autotune space conv2d --shape 16x16x1024x1024 --sample 5", "autotune space --file space.json"},
	"autotune verify":     {"autotune verify conv2d --shape 1x4x12x12 --sanitize"},
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

const exitCodes = "Exit codes: 0 found, 1 no valid variant, 2 bad input, 3 device trouble, 130 interrupted."

// helpWanted finds out whether the arguments ask for a help page, and of which
// command: `autotune`, `--help` anywhere, or `help COMMAND`.
func helpWanted(args []string) (path []string, wanted bool) {
	words := args[1:]
	if len(words) == 0 {
		return nil, true
	}
	if words[0] == "help" {
		return slices.DeleteFunc(slices.Clone(words[1:]), isHelpFlag), true
	}
	if end := slices.Index(words, "--"); end >= 0 {
		words = words[:end]
	}
	if !slices.ContainsFunc(words, isHelpFlag) {
		return nil, false
	}
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return strings.HasPrefix(w, "-") }), true
}

func isHelpFlag(word string) bool { return word == "--help" || word == "-help" || word == "-h" }

// showHelp prints the page of the command that the words lead to. Words after a
// command that has no commands of its own are its arguments.
func showHelp(w io.Writer, app *cli.App, path []string) error {
	name, commands := app.Name, app.Commands
	var found *cli.Command
	for _, word := range path {
		if found != nil && len(commands) == 0 {
			break
		}
		next := commandNamed(commands, word)
		if next == nil {
			return unknownWord(name, word, commands)
		}
		found, commands, name = next, next.Subcommands, name+" "+next.Name
	}
	if found == nil {
		return appPage(w, app)
	}
	return commandPage(w, name, found)
}

func commandNamed(commands []*cli.Command, name string) *cli.Command {
	at := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(name) })
	if at < 0 {
		return nil
	}
	return commands[at]
}

// unknownWord is the error of a word where a command's name belongs.
func unknownWord(parent, word string, commands []*cli.Command) error {
	names := commandNames(commands)
	if near := suggest(word, names); near != "" {
		return badInput(fmt.Errorf("unknown command %q%s", word, near))
	}
	return badInput(fmt.Errorf("unknown command %q; `%s` has %s", word, parent, strings.Join(names, ", ")))
}

func commandNames(commands []*cli.Command) []string {
	var names []string
	for _, c := range commands {
		names = append(names, c.Name)
	}
	return names
}

func appPage(w io.Writer, app *cli.App) error {
	var p page
	p.line(app.Name + ": " + app.Usage)
	p.line("")
	p.line("  " + app.UsageText)
	p.line("")
	p.line("Commands:")
	p.commands(app.Commands)
	p.line("")
	p.paragraph("`autotune help COMMAND` tells more about one. An operator is a name that `autotune ops` lists, or a folder with an op.yaml.")
	p.line("")
	p.paragraph(exitCodes)
	return p.print(w)
}

func commandPage(w io.Writer, name string, c *cli.Command) error {
	var p page
	p.paragraph(name + ": " + c.Usage)
	p.line("")
	p.line("  " + strings.TrimSpace(name+" "+c.ArgsUsage) + flagsWord(c))
	if c.Description != "" {
		p.line("")
		p.paragraph(c.Description)
	}
	if len(c.Subcommands) > 0 {
		p.line("")
		p.line("Commands:")
		p.commands(c.Subcommands)
	}
	if len(c.Flags) > 0 {
		p.line("")
		p.line("Flags:")
		p.flags(c.Flags)
	}
	if lines := examples[name]; len(lines) > 0 {
		p.line("")
		p.line("Examples:")
		for _, line := range lines {
			p.line("  " + line)
		}
	}
	return p.print(w)
}

func flagsWord(c *cli.Command) string {
	if len(c.Flags) > 0 {
		return " [FLAGS]"
	}
	return ""
}
