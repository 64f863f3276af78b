package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/urfave/cli/v2"

	"autotune/internal/output"
	"autotune/tuner/store"
)

func cacheCommand() *cli.Command {
	return &cli.Command{
		Name:      "cache",
		Usage:     "look after the cache of trials and winners",
		ArgsUsage: "COMMAND",
		Subcommands: []*cli.Command{
			{Name: "ls", Usage: "list the problems in the cache", Flags: []cli.Flag{cacheFlag(), jsonFlag()}, Action: cacheListAction},
			{Name: "rm", Usage: "remove problems from the cache", ArgsUsage: "[OPERATOR|PROBLEM]",
				Description: "An OPERATOR stands for all its problems; a PROBLEM is written, in quotes, as `autotune cache ls` prints it.",
				Flags:       []cli.Flag{cacheFlag(), &cli.BoolFlag{Name: "all", Usage: "remove everything"}},
				Action:      cacheRemoveAction},
			{Name: "check", Usage: "check the cache file's pages and entries",
				Flags:  []cli.Flag{cacheFlag(), &cli.StringFlag{Name: "repair", Usage: "copy all that is whole into a `NEW` file; the old one stays as it is"}},
				Action: cacheCheckAction},
			cacheMergeCommand(),
			cacheGCCommand(),
			cacheExportCommand(),
			cacheImportCommand(),
		},
	}
}

func cacheListAction(c *cli.Context) error {
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
	return writeProblems(c, problems, "the cache is empty")
}

// writeProblems writes the list of problems; none is what to say if there are
// none.
func writeProblems(c *cli.Context, problems []store.Summary, none string) error {
	return writeDocument(c, append([]store.Summary{}, problems...), func(out io.Writer) error {
		if len(problems) == 0 {
			_, err := fmt.Fprintln(out, none)
			return err
		}
		for _, p := range problems {
			if _, err := fmt.Fprintln(out, p.Problem); err != nil { // whole, as `cache rm` takes it
				return err
			}
			best := "no winner"
			if p.WinnerMS > 0 {
				best = fmt.Sprintf("best %.4g ms", p.WinnerMS)
			}
			if p.Objective != "" {
				best += " (" + p.Objective + ")"
			}
			if unusual := p.Conditions.Unusual(); unusual != "" {
				best += " (" + unusual + ")"
			}
			text := fmt.Sprintf("%s, %s, %s, %s", output.Count(p.Trials, "trial"), best, p.UpdatedAt.Local().Format("2006-01-02 15:04"), p.Device)
			if err := hang(out, "  ", text); err != nil {
				return err
			}
		}
		return nil
	})
}

func cacheRemoveAction(c *cli.Context) error {
	if c.Bool("all") == c.Args().Present() {
		return badInput(errors.New("name what to remove: an operator, a problem as `autotune cache ls` prints it, or --all"))
	}
	s, err := openExisting(c, store.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	what := c.Args().First()
	removed, err := s.Remove(func(p store.Summary) bool {
		return what == "" || what == p.Problem || what == p.Operator()
	})
	if err != nil {
		return err
	}
	if len(removed) == 0 && what != "" {
		return badInput(fmt.Errorf("the cache holds nothing of %q; `autotune cache ls` lists what there is", what))
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
		return nil, badInput(&store.AbsentError{Path: path})
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
		return badInput(err)
	}
	for _, issue := range issues {
		fmt.Fprintln(c.App.Writer, issue)
	}
	if len(issues) > 0 {
		return badInput(fmt.Errorf("%s has %s", path, output.Count(len(issues), "fault")))
	}
	fmt.Fprintln(c.App.Writer, "the cache is sound")
	return nil
}
