package main

import (
	"errors"
	"strings"
	"unicode"

	"github.com/urfave/cli/v2"

	"autotune/tuner/operator"
)

// partFlags ask for part of a problem's space.
func partFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "template", Usage: "only configurations of the template `NAME`; may be repeated"},
		&cli.StringSliceFlag{Name: "where", Usage: "only configurations for which `EXPR` is true, as 'block_x <= 64'; may be repeated"},
	}
}

func configFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "config", Usage: "only this `CONFIGURATION`, as template=NAME,TUNABLE=VALUE,... or as autotune prints it; may be repeated, to go on"}
}

// restriction reads the flags that ask for part of a space.
func restriction(c *cli.Context) (operator.Restriction, error) {
	only := operator.Restriction{Templates: c.StringSlice("template"), Where: c.StringSlice("where")}
	if !c.IsSet("config") {
		return only, nil
	}
	pairs := configPairs(c.StringSlice("config"))
	if len(pairs) == 0 {
		return only, badInput(errors.New("--config is empty; want template=NAME and a value for each tunable, with commas between them"))
	}
	var err error
	only.Fixed, err = assignments("config", pairs)
	return only, badInput(err)
}

// configPairs takes a configuration apart: pairs with commas or spaces between
// them. Where autotune prints one, the template's name stands first and alone.
func configPairs(given []string) []string {
	pairs := strings.FieldsFunc(strings.Join(given, ","), func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	if len(pairs) > 0 && !strings.Contains(pairs[0], "=") {
		pairs[0] = "template=" + pairs[0]
	}
	return pairs
}
