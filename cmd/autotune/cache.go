package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/urfave/cli/v2"

	"autotune/device/recording"
	"autotune/internal/output"
	"autotune/reports"
	"autotune/tuner"
	"autotune/tuner/store"
	"autotune/tuner/winners"
)

func cacheCommand() *cli.Command {
	return group("cache", "look after the cache of trials and winners",
		cacheLs(), cacheRm(), cacheCheck(), cacheMerge(), cacheExport())
}

func cacheLs() *cli.Command {
	var cache, json string
	return command("ls", "list the problems in the cache", "", func(ctx context.Context, _ line) error {
		s, err := openStore(ctx, cache, store.Options{ReadOnly: true})
		if errors.Is(err, fs.ErrNotExist) && cache == "" {
			return writeProblems(json, nil)
		}
		if err != nil {
			return err
		}
		defer s.Close()
		problems, err := s.Problems()
		if err != nil {
			return err
		}
		return writeProblems(json, problems)
	}, cacheFlag(&cache), jsonFlag(&json))
}

func writeProblems(json string, problems []store.Summary) error {
	text := ""
	for _, p := range problems {
		best := "no winner"
		if p.WinnerMS > 0 {
			best = fmt.Sprintf("best %.4g ms", p.WinnerMS)
		}
		if unusual := p.Conditions.Unusual(); unusual != "" {
			best += " (" + unusual + ")"
		}
		text += p.Problem + "\n" + // not shortened, so that `cache rm` accepts it
			reports.Hang("  ", fmt.Sprintf("%s, %s, %s, %s", output.Count(p.Trials, "trial"), best,
				p.UpdatedAt.Local().Format("2006-01-02 15:04"), p.Device))
	}
	return writeDocument(json, append([]store.Summary{}, problems...), cmp.Or(text, "the cache is empty; a search fills it\n"))
}

func cacheRm() *cli.Command {
	var cache string
	var all bool
	return command("rm [OPERATOR|PROBLEM]", "remove problems from the cache",
		"An OPERATOR stands for all its problems; a PROBLEM is written, in quotes, as `cache ls` prints it.",
		func(ctx context.Context, l line) error {
			what := l.first()
			if all == (what != "") {
				return errors.New("name what to remove: an operator, a problem as `autotune cache ls` prints it, or --all")
			}
			s, err := openExisting(ctx, cache)
			if err != nil {
				return err
			}
			defer s.Close()
			removed, err := s.Remove(func(p store.Summary) bool { return all || what == p.Problem || what == p.Operator() })
			if err != nil {
				return err
			}
			if removed == 0 && !all {
				return fmt.Errorf("the cache holds nothing of %q; `autotune cache ls` lists what there is", what)
			}
			fmt.Fprintf(stdout, "removed %s\n", output.Count(removed, "problem"))
			return nil
		}, cacheFlag(&cache), boolFlag(&all, "all", "remove everything"))
}

// openExisting opens a cache that must exist already: a command that removes trials must not create a cache.
func openExisting(ctx context.Context, named string) (*store.Store, error) {
	path, err := cachePath(named)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, &store.AbsentError{Path: path}
	}
	return store.Open(ctx, path, store.Options{})
}

func cacheCheck() *cli.Command {
	var cache string
	return command("check", "check the cache file's pages and entries", "",
		func(ctx context.Context, _ line) error {
			path, err := cachePath(cache)
			if err != nil {
				return err
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
		}, cacheFlag(&cache))
}

func cacheMerge() *cli.Command {
	return command("merge INTO FROM...", "take the trials and winners of other caches into one",
		"INTO is made if there is none. It may be in use by searches meanwhile; the others are only read. What is "+
			"damaged in them is left out, so a new INTO gets all that is whole of a damaged cache.",
		func(ctx context.Context, l line) error {
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
				fmt.Fprintf(stdout, "took %s and %s of %s from %s\n", output.Count(tally.Trials, "trial"),
					output.Count(tally.Winners, "winner"), output.Count(tally.Problems, "problem"), l.arguments[i+1])
			}
			return nil
		})
}

func cacheExport() *cli.Command {
	var f winnerFlags
	var path string
	return command("export OPERATOR", "write the cached trials of a problem as a recording",
		"They were made as the winner was: on its device, with its compiler, driver and protocol.",
		func(ctx context.Context, l line) error {
			if path == "" {
				return errors.New("name the file to write: -o FILE")
			}
			w, err := f.askCache(ctx, l, &winners.Request{Trials: true, Device: f.device, Tool: tool()})
			if err != nil {
				return err
			}
			r := (&tuner.Result{Record: w.Kept.Record, Problem: w.Problem, Trials: w.Trials}).Recording(tool())
			if err := recording.Write(path, r); err != nil {
				return err
			}
			tellAll(append(w.Notices,
				fmt.Sprintf("wrote %s of %s on %s to %s", output.Count(len(w.Trials), "trial"), w.Problem, w.Kept.Device.Name,
					path)))
			return nil
		}, append(append(f.problem.flags(), f.conditions.flags()...), cacheFlag(&f.cache), whoseFlag(&f.device, "trials"),
			textFlag(&path, "output", "", "`FILE` to write; compressed if it ends in .gz; - is standard output", "o"))...)
}
