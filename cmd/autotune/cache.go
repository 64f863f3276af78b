package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"autotune/device/recording"
	"autotune/internal/output"
	"autotune/reports"
	"autotune/tuner"
	"autotune/tuner/store"
	"autotune/tuner/winners"
)

func cacheCommand() *cli.Command {
	return &cli.Command{
		Name:      "cache",
		Usage:     "look after the cache of trials and winners",
		ArgsUsage: "COMMAND",
		Subcommands: []*cli.Command{
			{Name: "ls", Usage: "list the problems in the cache", Flags: []cli.Flag{cacheFlag(), jsonFlag(),
				&cli.StringFlag{Name: "since", Usage: "only those searched since `WHEN`: an age as 12h, 30d or 8w, or a day as 2026-11-22"}}, Action: cacheListAction},
			{Name: "rm", Usage: "remove problems from the cache", ArgsUsage: "[OPERATOR|PROBLEM]",
				Description: "An OPERATOR stands for all its problems; a PROBLEM is written, in quotes, as `autotune cache ls` prints it.",
				Flags:       []cli.Flag{cacheFlag(), &cli.BoolFlag{Name: "all", Usage: "remove everything"}},
				Action:      cacheRemoveAction},
			{Name: "check", Usage: "check the cache file's pages and entries",
				Flags:  []cli.Flag{cacheFlag(), &cli.StringFlag{Name: "repair", Usage: "copy all that is whole into a `NEW` file; the old one stays as it is"}},
				Action: cacheCheckAction},
			{
				Name: "merge", Usage: "take the trials and winners of other caches into one", ArgsUsage: "INTO FROM...",
				Description: "INTO is made if there is none. It may be in use by searches meanwhile; the others are only read.",
				Action:      cacheMergeAction,
			},
			{
				Name: "gc", Usage: "remove problems that were not searched for a long time",
				Description: "The file keeps its size; what is free in it is used again.",
				Flags: []cli.Flag{cacheFlag(),
					&cli.StringFlag{Name: "older-than", Usage: "remove problems whose last search is older than this `AGE`: 12h, 30d, 8w"},
					&cli.StringFlag{Name: "keep-size", Usage: "remove problems, those of the oldest searches first, until the rest takes at most this `SIZE`: 500KB, 100MB, 1GiB"},
					&cli.BoolFlag{Name: "dry-run", Usage: "only say what would be removed"}},
				Action: cacheGCAction,
			},
			{
				Name: "export", Usage: "write the cached trials of a problem as a recording", ArgsUsage: "OPERATOR",
				Description: "They are the trials that were made as the winner was: on its device, with its compiler, driver and protocol.",
				Flags: append(slices.Concat(problemFlags(), conditionFlags()), cacheFlag(),
					whoseFlag("trials"),
					&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "`FILE` to write; compressed if it ends in .gz; - is standard output"}),
				Action: cacheExportAction,
			},
			{
				Name: "import", Usage: "take the trials of an exported recording into the cache", ArgsUsage: "FILE [OPERATOR]",
				Description: "An operator that is not built in is named by its folder. Trials of kernels that were edited since are left out.",
				Flags:       []cli.Flag{cacheFlag()},
				Action:      cacheImportAction,
			},
		},
	}
}

func cacheListAction(c *cli.Context) error {
	since, err := sinceOf(c)
	if err != nil {
		return err
	}
	s, err := openStore(c, store.Options{ReadOnly: true})
	if errors.Is(err, fs.ErrNotExist) && !c.IsSet("cache") {
		return writeProblems(c, []store.Summary{}, "the cache is empty; a search fills it")
	}
	if err != nil {
		return err
	}
	defer s.Close()
	problems, err := s.Problems()
	if err != nil {
		return err
	}
	none := "the cache is empty"
	if len(problems) > 0 {
		none = "no problem was searched since " + c.String("since")
	}
	problems = slices.DeleteFunc(problems, func(p store.Summary) bool { return p.UpdatedAt.Before(since) })
	return writeProblems(c, problems, none)
}

// sinceOf is when --since means; the zero time without it.
func sinceOf(c *cli.Context) (time.Time, error) {
	if !c.IsSet("since") {
		return time.Time{}, nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, c.String("since"), time.Local); err == nil {
		return day, nil
	}
	hours, err := quantity(c, "since", ageUnits, float64(math.MaxInt64/time.Hour))
	if err != nil {
		return time.Time{}, fmt.Errorf("%w; or a day, as 2026-11-22", err)
	}
	return time.Now().Add(-time.Duration(hours * float64(time.Hour))), nil
}

// writeProblems writes the list of problems; none is what to say if there are
// none.
func writeProblems(c *cli.Context, problems []store.Summary, none string) error {
	text := ""
	for _, p := range problems {
		best := "no winner"
		if p.WinnerMS > 0 {
			best = fmt.Sprintf("best %.4g ms", p.WinnerMS)
		}
		for _, note := range []string{p.Objective, p.Conditions.Unusual()} {
			if note != "" {
				best += " (" + note + ")"
			}
		}
		text += p.Problem + "\n" + // whole, as `cache rm` takes it
			reports.Hang("  ", fmt.Sprintf("%s, %s, %s, %s", output.Count(p.Trials, "trial"), best, p.UpdatedAt.Local().Format("2006-01-02 15:04"), p.Device))
	}
	return writeDocument(c, append([]store.Summary{}, problems...), cmp.Or(text, none+"\n"))
}

func cacheRemoveAction(c *cli.Context) error {
	if c.Bool("all") == c.Args().Present() {
		return errors.New("name what to remove: an operator, a problem as `autotune cache ls` prints it, or --all")
	}
	s, err := openExisting(c, store.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	what := c.Args().First()
	removed, err := s.Remove(func(all []store.Summary) []store.Summary {
		return slices.DeleteFunc(all, func(p store.Summary) bool { return what != "" && what != p.Problem && what != p.Operator() })
	})
	if err != nil {
		return err
	}
	if len(removed) == 0 && what != "" {
		return fmt.Errorf("the cache holds nothing of %q; `autotune cache ls` lists what there is", what)
	}
	fmt.Fprintf(c.App.Writer, "removed %s\n", output.Count(len(removed), "problem"))
	return nil
}

// openExisting opens a cache that must be there: to remove from it is no reason to
// make it.
func openExisting(c *cli.Context, o store.Options) (*store.Store, error) {
	path, err := cachePath(c)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, &store.AbsentError{Path: path}
	}
	return openStore(c, o)
}

func cacheCheckAction(c *cli.Context) error {
	path, err := cachePath(c)
	if err != nil {
		return err
	}
	if c.IsSet("repair") {
		return repairCache(c, path, c.String("repair"))
	}
	issues, err := store.CheckFile(c.Context, path)
	if err != nil {
		return err
	}
	for _, issue := range issues {
		fmt.Fprintln(c.App.Writer, issue)
	}
	if len(issues) > 0 {
		return fmt.Errorf("%s has %s", path, output.Count(len(issues), "fault"))
	}
	fmt.Fprintln(c.App.Writer, "the cache is sound")
	return nil
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
		return 0, fmt.Errorf("--%s %q: give a number and its unit, one of %s", flag, text, strings.Join(names, ", "))
	}
	return number * unit, nil
}

// gcRule reads which problems go.
func gcRule(c *cli.Context) (store.Stale, error) {
	var rule store.Stale
	if !c.IsSet("older-than") && !c.IsSet("keep-size") {
		return rule, errors.New("say what to remove: --older-than 30d, --keep-size 100MB, or both")
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
	var gone []store.Summary
	done := "removed"
	if dry {
		done = "would remove"
		gone, err = s.Problems()
		gone = rule.Choose(gone)
	} else {
		gone, err = s.Remove(rule.Choose)
	}
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

func cacheMergeAction(c *cli.Context) error {
	if c.NArg() < 2 {
		return errors.New("name the cache to merge into, then those to take from")
	}
	var from []*store.Store
	for _, path := range c.Args().Tail() {
		s, err := store.Open(c.Context, path, store.Options{ReadOnly: true})
		if err != nil {
			return err
		}
		defer s.Close()
		from = append(from, s)
	}
	into, err := store.Open(c.Context, c.Args().First(), store.Options{})
	if err != nil {
		return err
	}
	defer into.Close()
	for i, s := range from {
		tally, err := into.Merge(c.Context, s)
		if err != nil {
			return err
		}
		fmt.Fprintf(c.App.Writer, "took %s from %s\n", tallied(tally), c.Args().Get(i+1))
	}
	return nil
}

func cacheExportAction(c *cli.Context) error {
	path := c.String("output")
	if path == "" {
		return errors.New("name the file to write: -o FILE")
	}
	w, err := askCache(c, &winners.Request{Trials: true, Device: c.String("device"), Tool: tool()})
	if err != nil {
		return err
	}
	r := (&tuner.Result{Record: w.Kept.Record, Problem: w.Problem, Trials: w.Trials}).Recording(tool())
	r.Metadata.ReferenceDigest, r.Metadata.Arch = w.Kept.ReferenceDigest, w.Kept.Arch()
	if err := recording.Write(path, r); err != nil {
		return err
	}
	tell(w.Notices)
	fmt.Fprintf(c.App.ErrWriter, "autotune: wrote %s of %s on %s to %s\n", output.Count(len(w.Trials), "trial"), w.Problem, w.Kept.Device.Name, path)
	return nil
}

func cacheImportAction(c *cli.Context) error {
	if c.NArg() < 1 || c.NArg() > 2 {
		return errors.New("name one recording, and the operator's folder if it is not built in")
	}
	path := c.Args().First()
	r, err := recording.Load(c.Context, path)
	if err != nil {
		return err
	}
	name := r.Metadata.Problem.Operator
	if c.NArg() == 2 {
		name = c.Args().Get(1)
	}
	op, err := findOperator(name)
	if err == nil && op.Name != r.Metadata.Problem.Operator {
		err = fmt.Errorf("%s is of %s, not of %s", path, r.Metadata.Problem.Operator, op.Name)
	}
	if err != nil {
		return err
	}
	id, entries, err := winners.Imported(c.Context, r, op)
	if err != nil {
		return fmt.Errorf("%s cannot be imported: %w", path, err)
	}
	s, err := openStore(c, store.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	tally, err := s.Add(c.Context, id, entries)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "took %s of %s; %d were known, %d are of kernels that were edited since\n",
		output.Count(tally.Trials, "trial"), id, len(entries)-tally.Trials, len(r.Trials)-len(entries))
	return err
}

// repairCache copies what is whole of a cache to a new one and says what was not.
func repairCache(c *cli.Context, path, to string) error {
	tally, issues, err := store.Repair(c.Context, path, to)
	for _, issue := range issues {
		fmt.Fprintln(c.App.Writer, issue)
	}
	if err != nil {
		return err
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
