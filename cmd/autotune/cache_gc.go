package main

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"autotune/internal/output"
	"autotune/tuner/store"
)

func cacheGCCommand() *cli.Command {
	return &cli.Command{
		Name: "gc", Usage: "remove the problems that were not searched for long",
		Description: "The file keeps its size; what is free in it is used again.",
		Flags: []cli.Flag{cacheFlag(),
			&cli.StringFlag{Name: "older-than", Usage: "remove problems whose last search is older than this `AGE`: 12h, 30d, 8w"},
			&cli.StringFlag{Name: "keep-size", Usage: "remove problems, those of the oldest searches first, until the rest takes at most this `SIZE`: 500KB, 100MB, 1GiB"},
			&cli.BoolFlag{Name: "dry-run", Usage: "only say what would be removed"}},
		Action: cacheGCAction,
	}
}

// Units of ages, in hours, and of sizes, in bytes.
var (
	ageUnits  = map[string]float64{"h": 1, "d": 24, "w": 7 * 24}
	sizeUnits = map[string]float64{"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
)

// quantity reads a flag's number, which a unit must follow; most is a bound that
// keeps it within an int64 whatever it becomes.
func quantity(c *cli.Context, flag string, units map[string]float64, most float64) (float64, error) {
	text := strings.TrimSpace(c.String(flag))
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	number, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	unit, known := units[text[len(digits):]]
	if err != nil || !known || !(number >= 0 && number*unit <= most) {
		names := slices.SortedFunc(maps.Keys(units), func(a, b string) int { return int(units[a] - units[b]) })
		return 0, badInput(fmt.Errorf("--%s %q: give a number and its unit, one of %s", flag, text, strings.Join(names, ", ")))
	}
	return number * unit, nil
}

// gcRule reads which problems go.
func gcRule(c *cli.Context) (store.Stale, error) {
	var rule store.Stale
	if !c.IsSet("older-than") && !c.IsSet("keep-size") {
		return rule, badInput(errors.New("say what to remove: --older-than 30d, --keep-size 100MB, or both"))
	}
	if c.IsSet("older-than") {
		hours, err := quantity(c, "older-than", ageUnits, float64(math.MaxInt64/time.Hour))
		if err != nil {
			return rule, err
		}
		rule.Before = time.Now().Add(-time.Duration(hours * float64(time.Hour)))
	}
	rule.Bytes = math.MaxInt64
	if c.IsSet("keep-size") {
		bytes, err := quantity(c, "keep-size", sizeUnits, 1<<60)
		if err != nil {
			return rule, err
		}
		rule.Bytes = int64(bytes)
	}
	return rule, nil
}

func cacheGCAction(c *cli.Context) error {
	rule, err := gcRule(c)
	if err != nil {
		return err
	}
	dry := c.Bool("dry-run")
	s, err := openExisting(c, store.Options{ReadOnly: dry})
	if err != nil {
		return err
	}
	defer s.Close()
	remove, done := s.RemoveStale, "removed"
	if dry {
		remove, done = s.Stale, "would remove"
	}
	gone, err := remove(rule)
	if err != nil {
		return err
	}
	bytes, trials := int64(0), 0
	for _, p := range gone {
		bytes, trials = bytes+p.Bytes, trials+p.Trials
		fmt.Fprintf(c.App.Writer, "%s: %s, %s, last searched %s\n", p.ProblemID, output.Count(p.Trials, "trial"), megabytes(p.Bytes), p.UpdatedAt.Local().Format("2006-01-02 15:04"))
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s %s with %s, %s\n", done, output.Count(len(gone), "problem"), output.Count(trials, "trial"), megabytes(bytes))
	return err
}

func megabytes(n int64) string { return fmt.Sprintf("%.2f MB", float64(n)/1e6) }
