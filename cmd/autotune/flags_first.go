package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// flagsFirst moves flags before positional arguments, so that
// `search conv2d --shape 1x1x8x8` reads as it is typed: urfave/cli stops
// looking for flags at the first argument that is none.
func flagsFirst(app *cli.App, args []string) []string {
	if len(args) < 2 {
		return args
	}
	head, commands, flags := args[:1:1], app.Commands, app.Flags
	rest := args[1:]
	for len(rest) > 0 {
		next := commandNamed(commands, rest[0])
		if next == nil {
			break
		}
		head = append(head, rest[0])
		flags, commands, rest = next.Flags, next.Subcommands, rest[1:]
	}
	var named, positional []string
	for i := 0; i < len(rest); i++ {
		switch arg := rest[i]; {
		case arg == "--":
			positional = append(positional, rest[i+1:]...)
			i = len(rest)
		case len(arg) < 2 || arg[0] != '-':
			positional = append(positional, arg)
		default:
			named = append(named, arg)
			if !takesValue(flags, arg) {
				continue
			}
			if i++; i == len(rest) {
				// Nothing may follow, or it would be taken for the value.
				return slices.Concat(head, named)
			}
			named = append(named, rest[i])
		}
	}
	if len(positional) > 0 {
		named = append(named, "--")
	}
	return slices.Concat(head, named, positional)
}

// takesValue says whether the next argument is this flag's value.
func takesValue(flags []cli.Flag, arg string) bool {
	name := strings.TrimLeft(arg, "-")
	if strings.Contains(name, "=") {
		return false
	}
	f := flagNamed(flags, name)
	if f == nil {
		return false
	}
	_, isBool := f.(*cli.BoolFlag)
	return !isBool
}
