package main

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/internal/output"
)

// Nothing of the user's is overwritten. Before a command works, this file looks at
// all that it is asked to write: a file that the command reads is refused, and so is
// one that autotune did not write.

// Flags whose values are files that a command writes, and files that it reads.
var (
	outputFlags = []string{"json", "output", "record", "plot"}
	inputFlags  = []string{"from", "problems", "file", "config", "cache"}
)

// forceFlag lets an output replace any file that the command does not read.
func forceFlag() cli.Flag {
	return &cli.BoolFlag{Name: "force", Usage: "let an output replace a file that autotune did not write"}
}

// guardOutputs has a command, and those under it, look at its outputs first.
func guardOutputs(commands []*cli.Command) {
	for _, c := range commands {
		guardOutputs(c.Subcommands)
		if slices.ContainsFunc(outputFlags, func(name string) bool { return flagNamed(c.Flags, name) != nil }) {
			c.Flags = append(c.Flags, forceFlag())
			c.Before = checkNothingLost
		}
	}
}

func checkNothingLost(c *cli.Context) error {
	read := filesRead(c)
	for _, flag := range outputFlags {
		path := c.String(flag)
		if path == "" || path == output.Standard || isFolder(path) {
			continue
		}
		for _, input := range read {
			if output.Same(path, input) {
				return badInput(fmt.Errorf("--%s %s would replace a file that this command reads; name another file", flag, path))
			}
		}
		if err := output.Foreign(path); err != nil && !c.Bool("force") {
			return badInput(fmt.Errorf("--%s %s: %w; name another file, or add --force", flag, path, err))
		}
	}
	return nil
}

// filesRead are the files that a command may read: its arguments, with all that an
// operator's folder holds, and the values of flags.
func filesRead(c *cli.Context) []string {
	var all []string
	for _, argument := range append(c.Args().Slice(), c.StringSlice("recording")...) {
		if !isFolder(argument) {
			all = append(all, argument)
			continue
		}
		_ = filepath.WalkDir(argument, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() {
				all = append(all, path)
			}
			return nil
		})
	}
	for _, flag := range inputFlags {
		if value := c.String(flag); value != "" {
			all = append(all, value)
		}
	}
	if _, recording, ok := strings.Cut(c.String("device"), "replay:"); ok {
		all = append(all, recording)
	}
	return all
}
