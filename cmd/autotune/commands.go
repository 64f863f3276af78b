package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/internal/lists"
	"autotune/internal/spelling"
	"autotune/operator"
)

const programDescription = "autotune search conv2d --shape 16x16x1024x1024 searches a convolution.\n\n" +
	"`autotune help COMMAND` tells more about one. An operator is a name that `autotune ops` " +
	"lists, a folder with an op.yaml, or one .cu file that `autotune init` begins.\n\nExit codes: 0 found, 1 no valid " +
	"variant, 2 bad input, 3 device trouble, 130 interrupted."

func newApp() *cli.App {
	app := &cli.App{
		Name: "autotune", Usage: "find the fastest correct CUDA kernel for an operator and a shape",
		Description: programDescription, Version: versionText(), Writer: stdout, EnableBashCompletion: true,
		Action: func(c *cli.Context) error {
			if !c.Args().Present() {
				return cli.ShowAppHelp(c)
			}
			return whichCommand(c)
		},
		OnUsageError:   flagError,
		ExitErrHandler: func(*cli.Context, error) {}, // run prints errors, and sets the exit code
	}
	for _, in := range []struct {
		category string
		commands []*cli.Command
	}{
		// urfave/cli sorts the commands by the names of their groups.
		{"Find kernels", []*cli.Command{searchCommand(), tuneCommand(), captureCommand(), simulateCommand()}},
		{"Keep and use them", []*cli.Command{bestCommand(), explainCommand(), benchCommand(), exportCommand(), packCommand(),
			reportCommand(), cacheCommand()}},
		{"Make operators", []*cli.Command{opsCommand(), initCommand(), importCommand(), checkCommand(), verifyCommand(),
			spaceCommand()}},
		{"Run elsewhere", []*cli.Command{devicesCommand(), workerCommand(), workersCommand()}},
		{"This program", []*cli.Command{completionCommand(), command("version", "print the version", "",
			func(context.Context, line) error {
				_, err := fmt.Fprint(stdout, versionText())
				return err
			})}},
	} {
		for _, c := range in.commands {
			c.Category = in.category
		}
		app.Commands = append(app.Commands, in.commands...)
	}
	addExamples(app.Name, app.Commands)
	app.Setup()
	return app
}

func addExamples(path string, commands []*cli.Command) {
	for _, c := range commands {
		path := path + " " + c.Name
		if lines := examples[path]; lines != nil {
			c.Description = strings.TrimSpace(c.Description + "\n\nExamples:\n" + strings.Join(lines, "\n"))
		}
		addExamples(path, c.Subcommands)
	}
}

func init() {
	cli.HelpPrinter = func(w io.Writer, page string, data any) {
		cli.HelpPrinterCustom(w, page, data, map[string]any{"wrapAt": func() int { return 80 }})
	}
	cli.VersionPrinter = func(*cli.Context) { fmt.Fprint(stdout, versionText()) }
}

// flagsFirst moves flags before arguments, since urfave/cli reads no flag after the first argument. On the command line
// of `capture`, flagsFirst leaves the words behind the program's name in their places, because they are arguments of
// the program.
func flagsFirst(app *cli.App, words []string) []string {
	var c *cli.Command
	at, commands := 0, app.Commands
	for ; at < len(words); at++ {
		next, found := lists.First(commands, func(c *cli.Command) bool { return c.HasName(words[at]) })
		if !found {
			break
		}
		c, commands = next, next.Subcommands
	}
	if c == nil || c.Name == captureName || words[len(words)-1] == "--generate-bash-completion" {
		return words
	}
	var flags, arguments []string
	for rest := words[at:]; len(rest) > 0; {
		word := rest[0]
		rest = rest[1:]
		if word == "--" {
			arguments = append(arguments, rest...)
			break
		}
		if len(word) < 2 || word[0] != '-' {
			arguments = append(arguments, word)
			continue
		}
		name, value, given := strings.Cut(strings.TrimLeft(word, "-"), "=")
		f, found := flagNamed(c.Flags, name)
		if found { // package flag accepts only the flag's first name
			if word = "--" + f.Names()[0]; given {
				word += "=" + value
			}
		}
		switch {
		case name == "help" || name == "h": // urfave/cli would take the argument for a help topic
			return append(words[:at:at], "--help")
		case given || !found || !f.(cli.DocGenerationFlag).TakesValue():
			flags = append(flags, word)
		case len(rest) == 0: // package flag reports the missing value
			return slices.Concat(words[:at], flags, []string{word})
		default:
			flags, rest = append(flags, word, rest[0]), rest[1:]
		}
	}
	return slices.Concat(words[:at], flags, []string{"--"}, arguments)
}

func flagNamed(flags []flag, name string) (flag, bool) {
	return lists.First(flags, func(f flag) bool { return slices.Contains(f.Names(), name) })
}

// line describes a command line: the arguments, the command's name, and which flags were given, without their values.
type line struct {
	arguments []string
	command   string                 // the full name, such as "cache ls"
	given     func(flag string) bool // whether a flag is given, even with its default value
}

func (l line) first() string {
	if len(l.arguments) == 0 {
		return ""
	}
	return l.arguments[0]
}

func (l line) allGiven(names ...string) []string { return lists.Where(names, l.given) }

// command makes a command with its flags. use is the command's name followed by what the help calls its arguments.
func command(use, short, long string, run func(context.Context, line) error, flags ...flag) *cli.Command {
	name, arguments, _ := strings.Cut(use, " ")
	c := &cli.Command{
		Name: name, Usage: short, ArgsUsage: arguments, Description: long, Flags: flags, HideHelpCommand: true,
		Before: checkNothingLost, OnUsageError: flagError,
		Action: func(c *cli.Context) error {
			if arguments == "" && c.Args().Present() {
				return fmt.Errorf("`%s` takes no arguments; got %s", c.Command.HelpName, strings.Join(c.Args().Slice(), " "))
			}
			return run(c.Context, line{c.Args().Slice(), c.Command.HelpName, c.IsSet})
		},
	}
	c.BashComplete = func(ctx *cli.Context) {
		cli.DefaultCompleteWithFlags(c)(ctx)
		if strings.Contains(use, "OPERATOR") && !ctx.Args().Present() {
			fmt.Fprintln(stdout, strings.Join(operator.OperatorNames(), "\n"))
		}
	}
	return c
}

// group makes a command that consists of subcommands alone.
func group(name, short string, commands ...*cli.Command) *cli.Command {
	return &cli.Command{Name: name, Usage: short, ArgsUsage: "COMMAND", HideHelpCommand: true, Subcommands: commands,
		Action: whichCommand, OnUsageError: flagError}
}

// whichCommand returns the error for a command line that names no command, or one that does not exist.
func whichCommand(c *cli.Context) error {
	path, commands := c.App.Name, c.App.Commands
	if len(c.Command.Subcommands) > 0 && c.Command.HelpName != "" {
		path, commands = c.Command.HelpName, c.Command.Subcommands
	}
	word := c.Args().First()
	names := lists.Of(commands, func(c *cli.Command) string { return c.Name })
	if word == "" {
		return fmt.Errorf("which command? `%s` has %s", path, strings.Join(names, ", "))
	}
	if near := spelling.Nearest(word, names); near != "" {
		return fmt.Errorf("unknown command %q; did you mean %q?", word, near)
	}
	return fmt.Errorf("unknown command %q; `%s` has %s", word, path, strings.Join(names, ", "))
}

// flagError turns the library's error about a flag into one that says what would be right. For an unknown flag, the new
// error suggests a similar flag or the help page.
func flagError(c *cli.Context, err error, _ bool) error {
	page := cmp.Or(c.Command.HelpName, c.App.Name)
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !unknown {
		text := strings.TrimSuffix(err.Error(), ": parse error") // package flag appends this text, which says nothing
		return fmt.Errorf("%s; `%s --help` says what the flag takes", text, page)
	}
	name, _, _ = strings.Cut(strings.TrimLeft(name, "-"), "=")
	var names []string
	for _, f := range c.Command.Flags {
		names = append(names, f.Names()[0])
	}
	if near := spelling.Nearest(name, names); near != "" {
		return fmt.Errorf("unknown flag --%s; did you mean \"--%s\"?", name, near)
	}
	return fmt.Errorf("unknown flag --%s; `%s --help` lists the flags", name, page)
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
	"autotune space": {
		"autotune space conv2d --shape 16x16x1024x1024 --sample 5",
		"autotune space --file space.json",
	},
	"autotune verify": {
		"autotune verify conv2d --shape 1x4x12x12 --sanitize",
		"autotune verify conv2d --shape 1x4x12x12 --template direct --schedules 8",
	},
	"autotune cache rm": {"autotune cache rm conv2d"},
}

func example(command string) string {
	if lines := examples[command]; len(lines) > 0 {
		return lines[0]
	}
	return command + " conv2d"
}

// completionScripts holds a completion script for each shell. A completion script runs autotune to ask for the words
// that may come next, and completes file names if autotune prints none.
var completionScripts = map[string]string{
	"bash": `_autotune() {
  local words=("${COMP_WORDS[@]:0:COMP_CWORD}") typed="${COMP_WORDS[COMP_CWORD]}"
  [[ "$typed" == -* ]] && words+=("$typed")
  COMPREPLY=($(compgen -W "$("${words[@]}" --generate-bash-completion 2>/dev/null)" -- "$typed"))
}
complete -o bashdefault -o default -F _autotune autotune
`,
	"zsh": `#compdef autotune
_autotune() {
  local -a found given
  given=("${(@)words[1,CURRENT-1]}")
  [[ "$words[CURRENT]" == -* ]] && given+=("$words[CURRENT]")
  found=("${(@f)$("${given[@]}" --generate-bash-completion 2>/dev/null)}")
  if [[ -n "$found[1]" ]]; then compadd -- "${(@)found%%:*}"; else _files; fi
}
compdef _autotune autotune
`,
}

func completionCommand() *cli.Command {
	return command("completion bash|zsh", "print a shell's completion script", "", func(_ context.Context, l line) error {
		script, known := completionScripts[l.first()]
		if !known {
			return errors.New("which shell? bash or zsh, as in: source <(autotune completion bash)")
		}
		_, err := fmt.Fprint(stdout, script)
		return err
	})
}
