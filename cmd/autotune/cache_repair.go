package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"autotune/internal/output"
	"autotune/tuner/store"
)

// repairCache copies what is whole of a cache to a new one and says what was not.
func repairCache(c *cli.Context, path, to string) error {
	tally, issues, err := store.Repair(c.Context, path, to)
	for _, issue := range issues {
		fmt.Fprintln(c.App.Writer, issue)
	}
	if err != nil {
		return badInput(err)
	}
	left := "nothing was wrong"
	if len(issues) > 0 {
		left = "what lies under " + output.Count(len(issues), "fault") + " was left"
	}
	fmt.Fprintf(c.App.Writer, "copied %s to %s; %s\n", tallied(tally), to, left)
	return nil
}

func tallied(t store.Tally) string {
	return fmt.Sprintf("%s and %s of %s", output.Count(t.Trials, "trial"), output.Count(t.Winners, "winner"), output.Count(t.Problems, "problem"))
}
