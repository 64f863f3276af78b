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
		Description: programDescription,
		HideVersion: true,
		Flags:       []cli.Flag{&cli.BoolFlag{Name: "version", Usage: "print the version"}},
		Commands: []*cli.Command{
			searchCommand(), bestCommand(), exportCommand(), opsCommand(), spaceCommand(),
			devicesCommand(), verifyCommand(), simulateCommand(), reportCommand(), cacheCommand(), completionCommand(), versionCommand(),
			{Name: "help", Usage: "show a command's page", ArgsUsage: "[COMMAND]"},
		},
		Action: rootAction,
		// A comma in a value is part of it.
		DisableSliceFlagSeparator: true,
		// Errors come back to run, which prints them once and sets the exit code.
		ExitErrHandler: func(*cli.Context, error) {},
		// Help is asked for in many ways, all of which arguments.go reads.
		HideHelp: true,
	}
	app.Setup()
	for _, c := range app.Commands {
		strict(c)
	}
	return app
}

// rootAction runs when the first word names no command.
func rootAction(c *cli.Context) error {
	if c.Bool("version") {
		return versionAction(c)
	}
	return unknownCommand(program(c.App), c.Args().First())
}

// strict makes a command and those below it refuse words that they would
// otherwise ignore.
func strict(c *cli.Command) {
	c.HideHelp = true
	switch {
	case len(c.Subcommands) > 0 && c.Action == nil:
		c.ArgsUsage, c.Action = "COMMAND", whichCommand
	case len(c.Subcommands) == 0 && c.ArgsUsage == "":
		c.Action = withoutArguments(c.Action)
	}
	for _, sub := range c.Subcommands {
		sub.HelpName = c.HelpName + " " + sub.Name
		strict(sub)
	}
}

// whichCommand is the action of a command that only has commands of its own.
func whichCommand(c *cli.Context) error {
	if c.Args().Present() {
		return unknownCommand(c.Command, c.Args().First())
	}
	return badInput(fmt.Errorf("which command? `%s` has %s", c.Command.HelpName, strings.Join(commandNames(c.Command.Subcommands), ", ")))
}

func withoutArguments(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		if c.Args().Present() {
			return badInput(fmt.Errorf("`%s` takes no arguments; got %s", c.Command.HelpName, strings.Join(c.Args().Slice(), " ")))
		}
		return action(c)
	}
}
