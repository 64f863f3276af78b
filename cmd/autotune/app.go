package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

func newApp() *cli.App {
	app := &cli.App{
		Name:        "autotune",
		Usage:       "find the fastest correct CUDA kernel for an operator and a shape",
		UsageText:   "autotune search conv2d --shape 16x16x1024x1024",
		HideVersion: true,
		Flags:       []cli.Flag{&cli.BoolFlag{Name: "version", Usage: "print the version"}},
		Commands: []*cli.Command{
			searchCommand(), bestCommand(), exportCommand(), opsCommand(), spaceCommand(),
			devicesCommand(), verifyCommand(), simulateCommand(), reportCommand(), cacheCommand(), completionCommand(), versionCommand(),
			{Name: "help", Usage: "show a command's page", ArgsUsage: "[COMMAND]"},
		},
		Action:       rootAction,
		OnUsageError: usage,
		// Errors come back to run, which prints them once and sets the exit code.
		ExitErrHandler: func(*cli.Context, error) {},
		// Help pages are our own: help.go.
		HideHelp: true,
	}
	uniform(app.Commands)
	return app
}

// rootAction runs when the first word names no command.
func rootAction(c *cli.Context) error {
	if c.Bool("version") {
		return versionAction(c)
	}
	return unknownWord(c.App.Name, c.Args().First(), c.App.Commands)
}

// uniform gives all commands the same manners: their own help pages, complaints
// about flags that say what would be right, and none about arguments that would
// pass in silence.
func uniform(commands []*cli.Command) {
	for _, c := range commands {
		c.HideHelp = true
		c.OnUsageError = usage
		switch {
		case len(c.Subcommands) > 0 && c.Action == nil:
			c.ArgsUsage, c.Action = "COMMAND", whichCommand(c.Subcommands)
		case len(c.Subcommands) == 0 && c.ArgsUsage == "":
			c.Action = withoutArguments(c.Action)
		}
		uniform(c.Subcommands)
	}
}

// whichCommand is the action of a command that only has commands of its own.
func whichCommand(commands []*cli.Command) cli.ActionFunc {
	return func(c *cli.Context) error {
		name := c.App.Name
		if c.Command != nil && c.Command.HelpName != "" {
			name = c.Command.HelpName
		}
		if c.Args().Present() {
			return unknownWord(name, c.Args().First(), commands)
		}
		return badInput(fmt.Errorf("which command? `%s` has %s", name, strings.Join(commandNames(commands), ", ")))
	}
}

func withoutArguments(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		if c.Args().Present() {
			return badInput(fmt.Errorf("`%s` takes no arguments; got %s", c.Command.HelpName, strings.Join(c.Args().Slice(), " ")))
		}
		return action(c)
	}
}
