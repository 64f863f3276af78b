package main

import (
	"fmt"

	"github.com/urfave/cli/v2"
)

func newApp() *cli.App {
	return &cli.App{
		Name:                 "autotune",
		Usage:                "find the fastest correct CUDA kernel for an operator and a shape",
		UsageText:            "autotune search conv2d --shape 16x16x1024x1024",
		HideVersion:          true,
		EnableBashCompletion: true,
		Commands: []*cli.Command{
			searchCommand(), bestCommand(), exportCommand(), opsCommand(), spaceCommand(),
			devicesCommand(), verifyCommand(), reportCommand(), cacheCommand(), completionCommand(), versionCommand(),
		},
		CommandNotFound: nil,
		Action:          unknownCommand,
		OnUsageError:    func(_ *cli.Context, err error, _ bool) error { return badInput(err) },
		// Errors come back to run, which prints them once and sets the exit code.
		ExitErrHandler: func(*cli.Context, error) {},
	}
}

// unknownCommand runs when the first word names no command.
func unknownCommand(c *cli.Context) error {
	if !c.Args().Present() {
		return cli.ShowAppHelp(c)
	}
	var names []string
	for _, command := range c.App.Commands {
		names = append(names, command.Name)
	}
	return badInput(fmt.Errorf("unknown command %q%s; `autotune --help` lists the commands", c.Args().First(), suggest(c.Args().First(), names)))
}

// usage makes a command's complaint about its arguments name the remedy.
func usage(_ *cli.Context, err error, _ bool) error { return badInput(err) }
