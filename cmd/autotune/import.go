package main

import (
	"errors"
	"io"
	"slices"

	"github.com/urfave/cli/v2"

	"autotune/internal/input"
	"autotune/tuner/t1"
)

func importCommand() *cli.Command {
	return &cli.Command{
		Name:      "import",
		Usage:     "bring an operator or a search from another autotuning tool",
		ArgsUsage: "FILE [OPERATOR]",
		Description: "A T1 document with its kernel's file becomes an operator's folder. A Kernel Tuner cache or T4 results become a " +
			"recording, of OPERATOR if one is named. What has no equivalent is named on standard error.",
		Flags: slices.Concat(problemFlags(), []cli.Flag{
			&cli.StringFlag{Name: "template", Usage: "the template of OPERATOR that the trials are of, by `NAME`; unless told, the one with their tunables"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "`PATH` to write: a folder for an operator, a file for a recording"},
		}),
		Action: importAction,
	}
}

// importedBound is what a file of either form may have, before anybody knows which.
var importedBound = input.Bound{Kind: "a file to import", Bytes: 32 << 20}

func importAction(c *cli.Context) error {
	if c.NArg() < 1 || c.NArg() > 2 {
		return badInput(errors.New("name one file, as in: autotune import kernel.json; and the operator that a cache is of, if that has another name"))
	}
	path := c.Args().First()
	data, err := input.File(c.Context, path, func(r io.Reader) ([]byte, error) { return importedBound.Unpack(r) })
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return badInput(err)
	}
	if t1.Is(data) {
		return badInput(importOperator(c, path))
	}
	return badInput(importRecording(c, path))
}
