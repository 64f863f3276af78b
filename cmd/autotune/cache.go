package main

import (
	"cmp"
	"context"
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
	"autotune/internal/lists"
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
		Subcommands: []*cli.Command{cacheLs(), cacheRm(), cacheCheck(), cacheMerge(), cacheGC(), cacheExport(),
			cacheImport()},
	}
}

func cacheLs() *cli.Command {
	var cache, json, since string
	return &cli.Command{
		Name: "ls", Usage: "list the problems in the cache",
		Flags: []cli.Flag{cacheFlag(&cache), jsonFlag(&json),
			textFlag(&since, "since", "", "only those searched since `WHEN`: an age as 12h, 30d or 8w, or a day as 2026-11-22")},
		Action: action(func(ctx context.Context, l line) error {
			from, err := sinceOf(since)
			if err != nil {
				return err
			}
			s, err := openStore(ctx, cache, store.Options{ReadOnly: true})
			if errors.Is(err, fs.ErrNotExist) && cache == "" {
				return writeProblems(json, nil, "the cache is empty; a search fills it")
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
				none = "no problem was searched since " + since
			}
			recent := lists.Where(problems, func(p store.Summary) bool { return !p.UpdatedAt.Before(from) })
			return writeProblems(json, recent, none)
		}),
	}
}

// sinceOf is when --since means; the zero time without it.
func sinceOf(since string) (time.Time, error) {
	if since == "" {
		return time.Time{}, nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, since, time.Local); err == nil {
		return day, nil
	}
	at, err := ago("since", since)
	if err != nil {
		return at, fmt.Errorf("%w; or a day, as 2026-11-22", err)
	}
	return at, nil
}

// writeProblems writes the list of problems; none is what to say if it is empty.
func writeProblems(json string, problems []store.Summary, none string) error {
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
			reports.Hang("  ", fmt.Sprintf("%s, %s, %s, %s", output.Count(p.Trials, "trial"), best,
				p.UpdatedAt.Local().Format("2006-01-02 15:04"), p.Device))
	}
	return writeDocument(json, append([]store.Summary{}, problems...), cmp.Or(text, none+"\n"))
}

func cacheRm() *cli.Command {
	var cache string
	var all bool
	return &cli.Command{
		Name: "rm", Usage: "remove problems from the cache", ArgsUsage: "[OPERATOR|PROBLEM]",
		Description: "An OPERATOR stands for all its problems; a PROBLEM is written, in quotes, as `cache ls` prints it.",
		Flags:       []cli.Flag{cacheFlag(&cache), boolFlag(&all, "all", "remove everything")},
		Action: action(func(ctx context.Context, l line) error {
			what := l.first()
			if all == (what != "") {
				return errors.New("name what to remove: an operator, a problem as `autotune cache ls` prints it, or --all")
			}
			s, err := openExisting(ctx, cache, store.Options{})
			if err != nil {
				return err
			}
			defer s.Close()
			removed, err := s.Remove(func(all []store.Summary) []store.Summary {
				return lists.Where(all, func(p store.Summary) bool {
					return what == "" || what == p.Problem || what == p.Operator()
				})
			})
			if err != nil {
				return err
			}
			if len(removed) == 0 && what != "" {
				return fmt.Errorf("the cache holds nothing of %q; `autotune cache ls` lists what there is", what)
			}
			fmt.Fprintf(stdout, "removed %s\n", output.Count(len(removed), "problem"))
			return nil
		}),
	}
}

// openExisting opens a cache that must be there: to remove from it is no reason to make it.
func openExisting(ctx context.Context, named string, o store.Options) (*store.Store, error) {
	path, err := cachePath(named)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, &store.AbsentError{Path: path}
	}
	return store.Open(ctx, path, o)
}

func cacheCheck() *cli.Command {
	var cache, repair string
	return &cli.Command{
		Name: "check", Usage: "check the cache file's pages and entries",
		Flags: []cli.Flag{cacheFlag(&cache),
			textFlag(&repair, "repair", "", "copy all that is whole into a `NEW` file; the old one stays as it is")},
		Action: action(func(ctx context.Context, _ line) error {
			path, err := cachePath(cache)
			if err != nil {
				return err
			}
			if repair != "" {
				return repairCache(ctx, path, repair)
			}
			issues, err := store.CheckFile(ctx, path)
			if err != nil {
				return err
			}
			for _, issue := range issues {
				fmt.Fprintln(stdout, issue)
			}
			if len(issues) > 0 {
				return fmt.Errorf("%s has %s", path, output.Count(len(issues), "fault"))
			}
			fmt.Fprintln(stdout, "the cache is sound")
			return nil
		}),
	}
}

// repairCache copies what is whole of a cache to a new one and says what was not.
func repairCache(ctx context.Context, path, to string) error {
	tally, issues, err := store.Repair(ctx, path, to)
	for _, issue := range issues {
		fmt.Fprintln(stdout, issue)
	}
	if err != nil {
		return err
	}
	left := "nothing was wrong"
	if len(issues) > 0 {
		left = "what lies under " + output.Count(len(issues), "fault") + " was left"
	}
	fmt.Fprintf(stdout, "copied %s to %s; %s\n", tallied(tally), to, left)
	return nil
}

// Units of ages, in hours, and of sizes, in bytes.
var (
	ageUnits  = map[string]float64{"h": 1, "d": 24, "w": 7 * 24}
	sizeUnits = map[string]float64{"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
)

// quantity reads a flag's number, which a unit must follow; most is a bound that keeps it within an int64 whatever it
// becomes.
func quantity(flag, text string, units map[string]float64, most float64) (float64, error) {
	text = strings.TrimSpace(text)
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	number, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	unit, known := units[text[len(digits):]]
	if err != nil || !known || !(number >= 0 && number*unit <= most) {
		names := slices.SortedFunc(maps.Keys(units), func(a, b string) int { return int(units[a] - units[b]) })
		return 0, fmt.Errorf("--%s %q: give a number and its unit, one of %s", flag, text, strings.Join(names, ", "))
	}
	return number * unit, nil
}

func sizeOf(flag, text string) (int64, error) {
	bytes, err := quantity(flag, text, sizeUnits, 1<<60)
	return int64(bytes), err
}

// ago is when an age that a flag gives began.
func ago(flag, age string) (time.Time, error) {
	hours, err := quantity(flag, age, ageUnits, float64(math.MaxInt64/time.Hour))
	return time.Now().Add(-time.Duration(hours * float64(time.Hour))), err
}

func cacheGC() *cli.Command {
	var cache, olderThan, keepSize string
	var dry bool
	return &cli.Command{
		Name: "gc", Usage: "remove problems that were not searched for a long time",
		Description: "The file keeps its size; what is free in it is used again.",
		Flags: []cli.Flag{cacheFlag(&cache),
			textFlag(&olderThan, "older-than", "", "remove problems whose last search is older than this `AGE`: 12h, 30d, 8w"),
			textFlag(&keepSize, "keep-size", "",
				"remove problems, those of the oldest searches first, until the rest takes at most this `SIZE`: 500KB, 1GiB"),
			boolFlag(&dry, "dry-run", "only say what would be removed")},
		Action: action(func(ctx context.Context, _ line) error {
			rule, err := gcRule(olderThan, keepSize)
			if err != nil {
				return err
			}
			return collect(ctx, cache, rule, dry)
		}),
	}
}

func gcRule(olderThan, keepSize string) (rule store.Stale, err error) {
	if olderThan == "" && keepSize == "" {
		return rule, errors.New("say what to remove: --older-than 30d, --keep-size 100MB, or both")
	}
	if olderThan != "" {
		if rule.Before, err = ago("older-than", olderThan); err != nil {
			return rule, err
		}
	}
	if rule.Bytes = math.MaxInt64; keepSize != "" {
		rule.Bytes, err = sizeOf("keep-size", keepSize)
	}
	return rule, err
}

// collect removes what a rule names, or only says what it would remove.
func collect(ctx context.Context, cache string, rule store.Stale, dry bool) error {
	s, err := openExisting(ctx, cache, store.Options{ReadOnly: dry})
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
		fmt.Fprintf(stdout, "%s: %s, %s, last searched %s\n",
			p.ProblemID, output.Count(p.Trials, "trial"), megabytes(p.Bytes), p.UpdatedAt.Local().Format("2006-01-02 15:04"))
	}
	_, err = fmt.Fprintf(stdout, "%s %s with %s, %s\n", done, output.Count(len(gone), "problem"),
		output.Count(trials, "trial"), megabytes(bytes))
	return err
}

func megabytes(n int64) string { return fmt.Sprintf("%.2f MB", float64(n)/1e6) }

func cacheMerge() *cli.Command {
	return &cli.Command{
		Name: "merge", Usage: "take the trials and winners of other caches into one", ArgsUsage: "INTO FROM...",
		Description: "INTO is made if there is none. It may be in use by searches meanwhile; the others are only read.",
		Action: action(func(ctx context.Context, l line) error {
			if len(l.arguments) < 2 {
				return errors.New("name the cache to merge into, then those to take from")
			}
			var from []*store.Store
			for _, path := range l.arguments[1:] {
				s, err := store.Open(ctx, path, store.Options{ReadOnly: true})
				if err != nil {
					return err
				}
				defer s.Close()
				from = append(from, s)
			}
			into, err := store.Open(ctx, l.first(), store.Options{})
			if err != nil {
				return err
			}
			defer into.Close()
			for i, s := range from {
				tally, err := into.Merge(ctx, s)
				if err != nil {
					return err
				}
				fmt.Fprintf(stdout, "took %s from %s\n", tallied(tally), l.arguments[i+1])
			}
			return nil
		}),
	}
}

func cacheExport() *cli.Command {
	var f winnerFlags
	var path string
	return &cli.Command{
		Name: "export", Usage: "write the cached trials of a problem as a recording", ArgsUsage: "OPERATOR",
		Description: "They were made as the winner was: on its device, with its compiler, driver and protocol.",
		Flags: append(append(f.problem.flags(), f.conditions.flags()...), cacheFlag(&f.cache), whoseFlag(&f.device, "trials"),
			textFlag(&path, "output", "", "`FILE` to write; compressed if it ends in .gz; - is standard output", "o")),
		Action: action(func(ctx context.Context, l line) error {
			if path == "" {
				return errors.New("name the file to write: -o FILE")
			}
			w, err := f.askCache(ctx, l, &winners.Request{Trials: true, Device: f.device, Tool: tool()})
			if err != nil {
				return err
			}
			r := (&tuner.Result{Record: w.Kept.Record, Problem: w.Problem, Trials: w.Trials}).Recording(tool())
			r.Metadata.ReferenceDigest, r.Metadata.Arch = w.Kept.ReferenceDigest, w.Kept.Arch()
			if err := recording.Write(path, r); err != nil {
				return err
			}
			tellAll(append(w.Notices,
				fmt.Sprintf("wrote %s of %s on %s to %s", output.Count(len(w.Trials), "trial"), w.Problem, w.Kept.Device.Name,
					path)))
			return nil
		}),
	}
}

func cacheImport() *cli.Command {
	var cache string
	return &cli.Command{
		Name: "import", Usage: "take the trials of an exported recording into the cache", ArgsUsage: "FILE [OPERATOR]",
		Description: "Name the folder of an operator that is not built in. Trials of kernels edited since are left out.",
		Flags:       []cli.Flag{cacheFlag(&cache)},
		Action:      action(func(ctx context.Context, l line) error { return importTrials(ctx, l, cache) }),
	}
}

func importTrials(ctx context.Context, l line, cache string) error {
	if len(l.arguments) < 1 || len(l.arguments) > 2 {
		return errors.New("name one recording, and the operator's folder if it is not built in")
	}
	path := l.first()
	r, err := recording.Load(ctx, path)
	if err != nil {
		return err
	}
	name := r.Metadata.Problem.Operator
	if len(l.arguments) == 2 {
		name = l.arguments[1]
	}
	op, err := findOperator(name)
	if err == nil && op.Name != r.Metadata.Problem.Operator {
		err = fmt.Errorf("%s is of %s, not of %s", path, r.Metadata.Problem.Operator, op.Name)
	}
	if err != nil {
		return err
	}
	id, entries, err := winners.Imported(ctx, r, op)
	if err != nil {
		return fmt.Errorf("%s cannot be imported: %w", path, err)
	}
	s, err := openStore(ctx, cache, store.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	tally, err := s.Add(ctx, id, entries)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "took %s of %s; %d were known, %d are of kernels that were edited since\n",
		output.Count(tally.Trials, "trial"), id, len(entries)-tally.Trials, len(r.Trials)-len(entries))
	return err
}

func tallied(t store.Tally) string {
	return fmt.Sprintf("%s and %s of %s", output.Count(t.Trials, "trial"), output.Count(t.Winners, "winner"),
		output.Count(t.Problems, "problem"))
}
