package main

import (
	"embed"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

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
		Action: func(c *cli.Context) error {
			const hint = "bash, zsh or fish, as in: source <(autotune completion bash)"
			shell := c.Args().First()
			if shell == "" {
				return badInput(errors.New("which shell? " + hint))
			}
			script, err := completionScripts.ReadFile("completion/autotune." + shell)
			if err != nil {
				return badInput(fmt.Errorf("no completion for shell %q; want %s", shell, hint))
			}
			_, err = c.App.Writer.Write(script)
			return err
		},
	}
}
