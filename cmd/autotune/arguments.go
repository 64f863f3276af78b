package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/internal/lists"
	"autotune/internal/spelling"
)

// commandLine is what the words after the program's name say.
type commandLine struct {
	path      []string     // the commands' names
	command   *cli.Command // the last of them, or the program itself
	flags     []string     // of the command, as --name=value
	arguments []string     // all other words
	help      bool         // the command's help page is asked for
	open      string       // the flag that the words end with, where it lacks its value
}

// readArguments takes flags before and after arguments; urfave/cli would stop at the first argument.
func readArguments(app *cli.App, words []string) *commandLine {
	l := &commandLine{command: program(app)}
	if len(words) > 0 && words[0] == "help" {
		l.help, words = true, words[1:]
	}
	for len(words) > 0 {
		next := l.command.Command(words[0])
		if next == nil {
			break
		}
		l.command, l.path, words = next, append(l.path, next.Name), words[1:]
	}
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		switch {
		case word == "--":
			l.arguments = append(l.arguments, words...)
			return l
		case len(word) < 2 || word[0] != '-':
			l.arguments = append(l.arguments, word)
		default:
			words = l.readFlag(word, words)
		}
	}
	return l
}

// program is the application as a command above all others.
func program(app *cli.App) *cli.Command {
	return &cli.Command{
		HelpName: app.Name, Usage: app.Usage, UsageText: app.UsageText, Description: app.Description,
		Flags: app.Flags, Subcommands: app.Commands,
	}
}

// readFlag reads a flag and its value, which may be the next word, and returns the words after both. A flag that is not
// known, or lacks its value, is left for package flag to refuse.
func (l *commandLine) readFlag(word string, rest []string) []string {
	name, value, given := strings.Cut(strings.TrimLeft(word, "-"), "=")
	f := flagNamed(l.command.Flags, name)
	_, isSwitch := f.(*cli.BoolFlag)
	switch {
	case name == "help" || name == "h":
		l.help = true
		return rest
	case f == nil:
		l.flags = append(l.flags, word)
		return rest
	case !given && isSwitch:
		value = "true"
	case !given && len(rest) == 0:
		l.open = f.Names()[0]
		l.flags = append(l.flags, word)
		return nil
	case !given:
		value, rest = rest[0], rest[1:]
	}
	l.flags = append(l.flags, "--"+f.Names()[0]+"="+value)
	return rest
}

func (l *commandLine) words() []string {
	if l.open != "" {
		return slices.Concat(l.path, l.flags)
	}
	return slices.Concat(l.path, l.flags, []string{"--"}, l.arguments)
}

// misplaced says what is wrong with words that the command would ignore, and with a line that ends where the name of a
// command belongs. Only --version needs none.
func (l *commandLine) misplaced() error {
	c := l.command
	switch {
	case l.help && len(c.Subcommands) > 0 && len(l.arguments) > 0, c.Action == nil && len(l.arguments) > 0:
		return unknownCommand(c, l.arguments[0])
	case l.help:
	case c.Action == nil && len(l.flags) == 0:
		return fmt.Errorf("which command? `%s` has %s", c.HelpName, strings.Join(commandNames(c.Subcommands), ", "))
	case c.ArgsUsage == "" && len(l.arguments) > 0 && len(c.Subcommands) == 0:
		return fmt.Errorf("`%s` takes no arguments; got %s", c.HelpName, strings.Join(l.arguments, " "))
	}
	return nil
}

// What package flag says of a flag that is not known, lacks its value, or has one that does not fit.
var (
	unknownForm = regexp.MustCompile(`^flag provided but not defined: -(.*)`)
	bareForm    = regexp.MustCompile(`^flag needs an argument: -+(.*)`)
	misfitForm  = regexp.MustCompile(`(?s)^invalid (?:boolean )?value "(.*)" for (?:flag )?-(\S+): `)
)

// refused says what is wrong with a flag, where package flag refused it.
func (l *commandLine) refused(err error) error {
	text := err.Error()
	if match := unknownForm.FindStringSubmatch(text); match != nil {
		name, _, _ := strings.Cut(strings.TrimLeft(match[1], "-"), "=")
		return l.unknownFlag(name)
	}
	if match := bareForm.FindStringSubmatch(text); match != nil {
		name := dashed(match[1])
		return fmt.Errorf("%s needs a value: %s %s; `%s --help` tells more",
			name, name, valueName(flagNamed(l.command.Flags, match[1])), l.command.HelpName)
	}
	if match := misfitForm.FindStringSubmatch(text); match != nil {
		return fmt.Errorf("%s %s: want %s", dashed(match[2]), match[1],
			fitting(flagNamed(l.command.Flags, match[2]), match[1]))
	}
	return err
}

func (l *commandLine) unknownFlag(name string) error {
	names := lists.Of(flagNames(l.command.Flags), func(dashes string) string { return strings.TrimLeft(dashes, "-") })
	switch near := spelling.Nearest(name, names); {
	case l.command.Name == captureName && len(l.arguments) > 0:
		return fmt.Errorf("unknown flag %s; write `%s -- %s ...`, so that flags after it are the program's",
			dashed(name), l.command.HelpName, l.arguments[0])
	case len(names) == 0:
		return fmt.Errorf("unknown flag %s; `%s` takes none", dashed(name), l.command.HelpName)
	case near != "":
		return fmt.Errorf("unknown flag %s; did you mean %q?", dashed(name), dashed(near))
	}
	return fmt.Errorf("unknown flag %s; `%s --help` lists the flags", dashed(name), l.command.HelpName)
}

// unknownCommand is the error of a word where the name of one of parent's commands belongs.
func unknownCommand(parent *cli.Command, word string) error {
	names := commandNames(parent.Subcommands)
	if near := spelling.Nearest(word, names); near != "" {
		return fmt.Errorf("unknown command %q; did you mean %q?", word, near)
	}
	return fmt.Errorf("unknown command %q; `%s` has %s", word, parent.HelpName, strings.Join(names, ", "))
}

// longForm is a time in one unit, however long.
var longForm = regexp.MustCompile(`^[0-9]+(ns|us|ms|s|m|h)$`)

// fitting says what a flag's value must be, where this one is something else.
func fitting(f cli.Flag, value string) string {
	switch f.(type) {
	case *cli.IntFlag:
		if strings.Trim(value, "-0123456789") == "" {
			return "a whole number between -2^63 and 2^63"
		}
		return "a whole number"
	case *cli.Uint64Flag:
		return "a whole number that is not negative, below 2^64"
	case *cli.Float64Flag:
		return "a number"
	case *cli.DurationFlag:
		if longForm.MatchString(value) {
			return "a time of at most 2562047h, which is 292 years; 0 is no limit"
		}
		return "a time with its unit, as 90s or 5m"
	}
	return "no value, or =false"
}

func oneOf(kind, word string, words []string) error {
	if slices.Contains(words, word) {
		return nil
	}
	text := fmt.Sprintf("unknown %s %q; there are", kind, word)
	if near := spelling.Nearest(word, words); near != "" {
		text = fmt.Sprintf("unknown %s %q; did you mean %q? There are", kind, word, near)
	}
	return errors.New(text + " " + strings.Join(words, ", "))
}

func commandNames(commands []*cli.Command) []string {
	return lists.Of(commands, func(c *cli.Command) string { return c.Name })
}

func flagNamed(flags []cli.Flag, name string) cli.Flag {
	f, _ := lists.First(flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
	return f
}

func flagNames(flags []cli.Flag) []string {
	var names []string
	for _, f := range flags {
		names = append(names, lists.Of(f.Names(), dashed)...)
	}
	return names
}

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}
