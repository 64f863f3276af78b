package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"autotune/device"
	"autotune/internal/lists"
	"autotune/internal/spelling"
	"autotune/operator"
	"autotune/reports"
	"autotune/reports/export"
	"autotune/tuner/devices"
	"autotune/tuner/strategy"
)

const programDescription = "`autotune help COMMAND` tells more about one. An operator is a name that `autotune ops` " +
	"lists, a folder with an op.yaml, or one .cu file that `autotune init` begins.\n\nExit codes: 0 found, 1 no valid " +
	"variant, 2 bad input, 3 device trouble, 130 interrupted."

const pageColumns = 80

func newApp() *cobra.Command {
	app := group("autotune", "find the fastest correct CUDA kernel for an operator and a shape")
	app.Long = wrapped(app.Short + ".\n\n" + programDescription)
	app.RunE = func(c *cobra.Command, words []string) error {
		if len(words) == 0 {
			return c.Help()
		}
		return whichCommand(c, words)
	}
	app.SilenceErrors, app.SilenceUsage = true, true // run prints errors
	cobra.EnableCommandSorting = false
	app.CompletionOptions.DisableDescriptions = true
	app.Version = versionText()
	app.SetVersionTemplate("{{.Version}}")
	app.SetOut(stdout)
	app.SetFlagErrorFunc(flagError)
	withWidth := fmt.Sprintf("FlagUsagesWrapped %d", pageColumns)
	app.SetUsageTemplate(strings.ReplaceAll(app.UsageTemplate(), "FlagUsages", withWidth))
	for _, in := range []struct {
		group    string
		commands []*cobra.Command
	}{
		{"Search", []*cobra.Command{searchCommand(), tuneCommand(), captureCommand(), simulateCommand()}},
		{"Winners", []*cobra.Command{bestCommand(), explainCommand(), benchCommand(), exportCommand(), packCommand(),
			reportCommand(), recheckCommand(), cacheCommand()}},
		{"Operators", []*cobra.Command{opsCommand(), initCommand(), importCommand(), checkCommand(), verifyCommand(),
			spaceCommand()}},
		{"Machines", []*cobra.Command{devicesCommand(), workerCommand(), workersCommand()}},
		{"This program", []*cobra.Command{
			command("version", "print the version", "", func(context.Context, line) error {
				_, err := fmt.Fprint(stdout, versionText())
				return err
			})}},
	} {
		app.AddGroup(&cobra.Group{ID: in.group, Title: in.group + ":"})
		for _, c := range in.commands {
			c.GroupID = in.group
		}
		app.AddCommand(in.commands...)
	}
	app.SetHelpCommandGroupID("This program")
	app.SetCompletionCommandGroupID("This program")
	addExamples(app)
	return app
}

// line is what a command is given beside the flags that it reads into its own variables.
type line struct {
	arguments []string
	command   string                 // its name, with those of the commands above it
	given     func(flag string) bool // whether a flag is given, even with its default value
}

func (l line) first() string {
	if len(l.arguments) == 0 {
		return ""
	}
	return l.arguments[0]
}

func (l line) allGiven(names ...string) []string { return lists.Where(names, l.given) }

// command is a command with its flags. use has its name, and what its arguments are called.
func command(use, short, long string, run func(context.Context, line) error, flags ...flag) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short}
	c.Long = wrapped(strings.TrimSuffix(short+".\n\n"+long, "\n\n"))
	c.Flags().SortFlags = false
	for _, add := range flags {
		add(c.Flags())
	}
	guardOutputs(c.Flags())
	c.RunE = func(c *cobra.Command, words []string) error {
		if !strings.Contains(use, " ") && len(words) > 0 {
			return fmt.Errorf("`%s` takes no arguments; got %s", c.CommandPath(), strings.Join(words, " "))
		}
		if err := checkNothingLost(c, words); err != nil {
			return err
		}
		return run(c.Context(), line{words, c.CommandPath(), c.Flags().Changed})
	}
	c.ValidArgsFunction = func(_ *cobra.Command, before []string, _ string) ([]string, cobra.ShellCompDirective) {
		if strings.Contains(use, "OPERATOR") && len(before) == 0 {
			return operator.OperatorNames(), cobra.ShellCompDirectiveDefault
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
	for flag, words := range flagWords {
		_ = c.RegisterFlagCompletionFunc(flag, // it fails where the command has no such flag
			func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				return words(), cobra.ShellCompDirectiveNoFileComp
			})
	}
	return c
}

// group is a command that has only commands of its own.
func group(name, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: name, Short: short, RunE: whichCommand, Args: cobra.ArbitraryArgs}
	c.AddCommand(commands...)
	return c
}

// whichCommand is the error of a line that lacks a command, or names one that does not exist.
func whichCommand(c *cobra.Command, words []string) error {
	names := lists.Of(c.Commands(), (*cobra.Command).Name)
	if len(words) == 0 {
		return fmt.Errorf("which command? `%s` has %s", c.CommandPath(), strings.Join(names, ", "))
	}
	if near := spelling.Nearest(words[0], names); near != "" {
		return fmt.Errorf("unknown command %q; did you mean %q?", words[0], near)
	}
	return fmt.Errorf("unknown command %q; `%s` has %s", words[0], c.CommandPath(), strings.Join(names, ", "))
}

// flagError says which flag is meant where one is unknown.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return err
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := spelling.Nearest(unknown.GetSpecifiedName(), names); near != "" {
		return fmt.Errorf("unknown flag --%s; did you mean \"--%s\"?", unknown.GetSpecifiedName(), near)
	}
	return fmt.Errorf("unknown flag --%s; `%s --help` lists the flags", unknown.GetSpecifiedName(), c.CommandPath())
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

func wrapped(text string) string {
	return strings.Join(lists.Of(strings.Split(text, "\n"), func(paragraph string) string {
		return strings.ReplaceAll(reports.Wrap(paragraph, pageColumns), "\n  ", "\n")
	}), "\n")
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
	"autotune ops schema": {"autotune ops schema > op.schema.json"},
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

func addExamples(c *cobra.Command) {
	if lines := examples[c.CommandPath()]; lines != nil {
		c.Example = "  " + strings.Join(lines, "\n  ")
	}
	for _, sub := range c.Commands() {
		addExamples(sub)
	}
}

func example(command string) string {
	if lines := examples[command]; len(lines) > 0 {
		return lines[0]
	}
	return command + " conv2d"
}

var flagWords = map[string]func() []string{
	"device":   deviceWords,
	"l2":       func() []string { return device.L2Words },
	"launch":   func() []string { return device.LaunchWords },
	"math":     func() []string { return []string{"auto", "fp32", "tf32", "tf32_even"} },
	"strategy": strategy.Names,
	"baseline": baselineWords,
	"inputs":   operator.Distributions,
	"format":   export.Names,
}

func deviceWords() []string {
	return lists.Of(devices.Forms(), func(form string) string {
		if name, _, more := strings.Cut(form, ":"); more {
			return name + ":"
		}
		return form
	})
}
