package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// usage turns the command line parser's complaint about a flag into one that
// says what would be right.
func usage(c *cli.Context, err error, _ bool) error {
	flags, name := c.App.Flags, c.App.Name
	if c.Command != nil && c.Command.Name != "" {
		flags, name = c.Command.Flags, c.Command.HelpName
	}
	return badInput(flagComplaint(err.Error(), name, flags))
}

func flagComplaint(complaint, command string, flags []cli.Flag) error {
	if _, flag, ok := strings.Cut(complaint, "flag provided but not defined: -"); ok {
		flag = strings.TrimLeft(flag, "-")
		if len(flags) == 0 {
			return fmt.Errorf("unknown flag %s; `%s` takes none", dashed(flag), command)
		}
		if near := suggest(dashed(flag), flagNames(flags)); near != "" {
			return fmt.Errorf("unknown flag %s%s", dashed(flag), near)
		}
		return fmt.Errorf("unknown flag %s; `%s --help` lists the flags", dashed(flag), command)
	}
	if _, flag, ok := strings.Cut(complaint, "flag needs an argument: -"); ok {
		flag = strings.TrimLeft(flag, "-")
		value := "VALUE"
		if f := flagNamed(flags, flag); f != nil {
			value, _ = flagUsage(f)
		}
		return fmt.Errorf("%s needs a value: %s %s; `%s --help` tells more", dashed(flag), dashed(flag), value, command)
	}
	value, flag, ok := valueComplaint(complaint)
	if f := flagNamed(flags, flag); ok && f != nil {
		return fmt.Errorf("%s %s: want %s", dashed(flag), value, wantedValue(f))
	}
	return fmt.Errorf("%s; `%s --help` tells how it is used", complaint, command)
}

// valueComplaint reads `invalid value "abc" for flag -sample: parse error`.
func valueComplaint(complaint string) (value, flag string, ok bool) {
	_, rest, ok := strings.Cut(complaint, `value "`)
	if !ok {
		return "", "", false
	}
	if value, rest, ok = strings.Cut(rest, `" for `); !ok {
		return "", "", false
	}
	flag, _, ok = strings.Cut(strings.TrimPrefix(rest, "flag "), ":")
	return value, strings.TrimLeft(flag, "-"), ok
}

func wantedValue(f cli.Flag) string {
	switch f.(type) {
	case *cli.IntFlag, *cli.Int64Flag:
		return "a whole number"
	case *cli.UintFlag, *cli.Uint64Flag:
		return "a whole number that is not negative"
	case *cli.Float64Flag:
		return "a number"
	case *cli.DurationFlag:
		return "a time with its unit, as 90s or 5m"
	case *cli.BoolFlag:
		return "no value, or =false"
	}
	return "another value"
}

func flagNamed(flags []cli.Flag, name string) cli.Flag {
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

func flagNames(flags []cli.Flag) []string {
	var names []string
	for _, f := range flags {
		for _, name := range f.Names() {
			names = append(names, dashed(name))
		}
	}
	return names
}
