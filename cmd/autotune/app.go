package main

import (
	"os"

	"github.com/urfave/cli/v2"

	"autotune/internal/output"
)

func newApp() *cli.App {
	app := &cli.App{
		Name:        "autotune",
		Usage:       "find the fastest correct CUDA kernel for an operator and a shape",
		UsageText:   "autotune search conv2d --shape 16x16x1024x1024",
		Description: programDescription,
		HideVersion: true,
		// Names and messages of files, devices and compilers pass here.
		Writer: output.Plain(os.Stdout),
		Flags:  []cli.Flag{&cli.BoolFlag{Name: "version", Usage: "print the version"}},
		Commands: []*cli.Command{
			searchCommand(), bestCommand(), exportCommand(), initCommand(), importCommand(), checkCommand(), opsCommand(), spaceCommand(),
			devicesCommand(), workerCommand(), workersCommand(), verifyCommand(), simulateCommand(), reportCommand(), cacheCommand(), recheckCommand(),
			completionCommand(), versionCommand(),
			{Name: "help", Usage: "show a command's page", ArgsUsage: "[COMMAND]"},
		},
		// Any other line names a command: see misplaced in arguments.go.
		Action: versionAction,
		// A comma in a value is part of it.
		DisableSliceFlagSeparator: true,
		// Errors come back to run, which prints them once and sets the exit code.
		ExitErrHandler: func(*cli.Context, error) {},
		// Help is asked for in many ways, all of which arguments.go reads.
		HideHelp: true,
	}
	guardOutputs(app.Commands)
	app.Setup()
	for _, c := range app.Commands {
		for _, sub := range c.Subcommands {
			sub.HelpName = c.HelpName + " " + sub.Name
		}
	}
	return app
}
