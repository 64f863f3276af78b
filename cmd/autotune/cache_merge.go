package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"autotune/tuner/store"
)

func cacheMergeCommand() *cli.Command {
	return &cli.Command{
		Name: "merge", Usage: "take the trials and winners of other caches into one", ArgsUsage: "INTO FROM...",
		Description: "INTO is made if there is none. It may be in use by searches meanwhile; the others are only read.",
		Action:      cacheMergeAction,
	}
}

func cacheMergeAction(c *cli.Context) error {
	if c.NArg() < 2 {
		return badInput(errors.New("name the cache to merge into, then those to take from"))
	}
	var from []*store.Store
	for _, path := range c.Args().Tail() {
		s, err := store.Open(c.Context, path, store.Options{ReadOnly: true})
		if err != nil {
			return badInput(err)
		}
		defer s.Close()
		from = append(from, s)
	}
	into, err := store.Open(c.Context, c.Args().First(), store.Options{})
	if err != nil {
		return badInput(err)
	}
	defer into.Close()
	for i, s := range from {
		tally, err := into.Merge(c.Context, s)
		if err != nil {
			return badInput(err)
		}
		fmt.Fprintf(c.App.Writer, "took %s from %s\n", tallied(tally), c.Args().Get(i+1))
	}
	return nil
}
