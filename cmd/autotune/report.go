package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"autotune/device"
	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/reports"
	"autotune/reports/webpage"
	"autotune/tuner/bestconfig"
	"autotune/tuner/simulate"
	"autotune/tuner/strategy"
)

func reportCommand() *cli.Command {
	return &cli.Command{
		Name:      "report",
		Usage:     "put searches together in one table, JSON list, plot and web page",
		ArgsUsage: "FILE...|OPERATOR",
		Description: "Files are best-config documents and recordings; for --html also documents of families. With --shape or --from it is instead about one winner of an operator, " +
			"in the cache or in the file, with all its trials.",
		Flags: append(winnerFlags(),
			&cli.BoolFlag{Name: "history", Usage: "what the cache knows of one problem over drivers, compilers and dates"},
			&cli.StringFlag{Name: "html", Usage: "write one web page, which needs no network, to `FILE`"},
			&cli.StringFlag{Name: "json", Usage: "write the list to `FILE`; - is standard output, in place of the table"},
			plotFlag("; - is standard output, in place of the table")),
		Action: reportAction,
	}
}

func reportAction(c *cli.Context) error {
	for _, two := range [][2]string{{"json", "plot"}, {"json", "html"}, {"html", "plot"}} {
		if err := distinctOutputs(c, two[0], two[1]); err != nil {
			return err
		}
	}
	if !c.Args().Present() && !c.IsSet("from") {
		return errors.New("which files? As in: autotune report a.json b.json.gz --html report.html")
	}
	if c.Bool("history") && c.IsSet("from") {
		return errors.New("--history is the cache's; leave --from away")
	}
	said := await(c, "putting searches together")
	defer said.done()
	told, err := reported(c)
	if err != nil {
		return err
	}
	list := lists.Of(told.Searches, func(s webpage.Search) bestconfig.Document { return s.Best })
	page := c.String("html")
	if len(told.Families) > 0 && (page == "" || c.IsSet("json") || c.IsSet("plot")) {
		return errors.New("families go into a web page alone: --html FILE; `autotune tune` prints their tables")
	}
	if page != "" {
		if err := writePage(page, told); err != nil {
			return badInput(err)
		}
	}
	said.done()
	if page == output.Standard || len(list) == 0 {
		return nil
	}
	return writeShown(c, shown{
		table: func(w io.Writer) error {
			if c.Bool("history") {
				return reports.HistoryTable(w, list)
			}
			return reports.SummaryTable(w, list, columnsOf(os.Stdout))
		},
		json: func(w io.Writer) error { return bestconfig.WriteJSONList(w, list) },
		plot: func(w io.Writer) error { return reports.SummaryPlot(w, list) },
		name: "summary.png",
	})
}

// shown is something in each form that it can be shown in.
type shown struct {
	table, json, plot func(io.Writer) error
	name              string // of the plot in a folder
}

// writeShown writes the files that --json and --plot name, and prints the table,
// unless a file takes standard output.
func writeShown(c *cli.Context, s shown) error {
	json, plot := c.String("json"), c.String("plot")
	if json != "" {
		if err := output.To(json, s.json); err != nil {
			return err
		}
	}
	if json != output.Standard && plot != output.Standard {
		if err := s.table(c.App.Writer); err != nil {
			return err
		}
	}
	if plot == "" {
		return nil
	}
	path, err := plotFile(plot, s.name)
	if err != nil {
		return fmt.Errorf("--plot %s: %w", plot, err)
	}
	return output.To(path, s.plot)
}

func simulateCommand() *cli.Command {
	return &cli.Command{
		Name:        "simulate",
		Usage:       "score strategies on recorded searches, without a GPU",
		ArgsUsage:   "[FILE...]",
		Description: "Plays strategies on recordings of whole spaces (ours, T4 JSON, Kernel Tuner caches; gzip or not) and scores each, averaged over time: 0 is as good as random search, 1 is the optimum.",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "recording", Usage: "a recording `FILE`; may be repeated, and more may follow as arguments"},
			&cli.StringFlag{Name: "strategy", Value: strategy.Default, Usage: "`NAMES` of strategies, joined by commas, or all: " + strings.Join(strategy.Names(), ", ")},
			&cli.IntFlag{Name: "repeats", Value: 50, Usage: "play each strategy `N` times, with different seeds"},
			&cli.IntFlag{Name: "budget", Usage: "end a run after `N` evaluations even if there is time; 0: no limit"},
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`SEED` of the first repeat"},
			&cli.StringFlag{Name: "devices", Value: "1", Usage: "let `N` devices evaluate side by side; several numbers, joined by commas, are compared"},
			&cli.IntFlag{Name: "ahead", Usage: "ask the strategy for `N` configurations ahead of each device"},
			&cli.BoolFlag{Name: "partial", Usage: "also score on recordings that hold only the part of a space that a search chose"},
			&cli.BoolFlag{Name: "ending", Usage: "in place of scores, show when searches end by themselves and what they then miss"},
			&cli.StringFlag{Name: "json", Usage: "write the scores to `FILE`; - is standard output, in place of the table"},
			plotFlag("; - is standard output, in place of the table"),
		},
		Action: simulateAction,
	}
}

func simulateAction(c *cli.Context) error {
	if err := distinctOutputs(c, "json", "plot"); err != nil {
		return err
	}
	o := simulate.Options{
		Strategies: strategyNames(c.String("strategy")), Repeats: c.Int("repeats"), Budget: c.Int("budget"), Seed: c.Uint64("seed"),
		Partial: c.Bool("partial"), Ahead: c.Int("ahead"),
	}
	var err error
	if o.Devices, err = deviceCounts(c.String("devices")); err == nil {
		err = checkSimulation(o)
	}
	if err != nil {
		return err
	}
	files, err := recordingFiles(append(c.StringSlice("recording"), c.Args().Slice()...))
	if err != nil {
		return err
	}
	recordings, err := loadRecordings(c.Context, files)
	if err != nil {
		return err
	}
	said := await(c, "playing strategies on "+output.Count(len(recordings), "recording"))
	defer said.done()
	if c.Bool("ending") {
		return endingAction(c, recordings, o, said)
	}
	report, err := simulate.Evaluate(c.Context, recordings, o)
	said.done()
	if errors.Is(err, simulate.ErrPartial) {
		return fmt.Errorf("%w; --partial scores it all the same", err)
	}
	if err != nil {
		return err
	}
	return writeShown(c, shown{
		table: func(w io.Writer) error { return reports.SimulationTable(w, report) },
		json:  func(w io.Writer) error { return printJSON(w, report) },
		plot:  func(w io.Writer) error { return reports.SimulationPlot(w, report) },
		name:  "simulation.png",
	})
}

func endingAction(c *cli.Context, recordings []*simulate.Recording, o simulate.Options, said *awaited) error {
	if c.IsSet("plot") {
		return errors.New("--ending has nothing to plot")
	}
	if c.IsSet("devices") || c.IsSet("ahead") {
		return errors.New("--ending is about one device")
	}
	report, err := simulate.Endings(c.Context, recordings, o)
	said.done()
	if err != nil {
		return err
	}
	return writeShown(c, shown{
		table: func(w io.Writer) error { return reports.EndingTable(w, report) },
		json:  func(w io.Writer) error { return printJSON(w, report) },
	})
}

// deviceCounts reads --devices.
func deviceCounts(list string) ([]int, error) {
	var counts []int
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 || n > device.MostWorkers {
			return nil, fmt.Errorf("--devices %s: want numbers from 1 to %d, as 1,8,64", list, device.MostWorkers)
		}
		counts = append(counts, n)
	}
	return counts, nil
}

func strategyNames(list string) []string {
	if list == "all" {
		return strategy.Names()
	}
	return lists.Of(strings.Split(list, ","), strings.TrimSpace)
}

// mostRepeats is far more than an interval can need.
const mostRepeats = 10000

// mostAhead is more than any search asks ahead of a device.
const mostAhead = 1000

func checkSimulation(o simulate.Options) error {
	switch {
	case o.Repeats < 1 || o.Repeats > mostRepeats:
		return fmt.Errorf("--repeats %d: want a number from 1 to %d", o.Repeats, mostRepeats)
	case o.Budget < 0:
		return fmt.Errorf("--budget %d: want a number that is not negative; 0 is no limit", o.Budget)
	case o.Ahead < 0 || o.Ahead > mostAhead:
		return fmt.Errorf("--ahead %d: want a number from 0 to %d", o.Ahead, mostAhead)
	}
	for _, name := range o.Strategies {
		if err := oneOf("strategy", name, strategy.Names()); err != nil {
			return err
		}
	}
	return nil
}

// recordingFiles expands patterns, for shells that did not.
func recordingFiles(given []string) ([]string, error) {
	var files []string
	for _, name := range given {
		matches, err := filepath.Glob(name)
		if err != nil || len(matches) == 0 {
			matches = []string{name} // reading it will tell what is wrong
		}
		files = append(files, matches...)
	}
	if len(files) == 0 {
		return nil, errors.New("which recordings? Name their files, as in: autotune simulate a.json.gz b.json.gz")
	}
	return files, nil
}

func loadRecordings(ctx context.Context, files []string) ([]*simulate.Recording, error) {
	recordings := make([]*simulate.Recording, len(files))
	load, ctx := errgroup.WithContext(ctx)
	load.SetLimit(runtime.GOMAXPROCS(0))
	for i, file := range files {
		load.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			var err error
			recordings[i], err = simulate.Load(ctx, file)
			return err
		})
	}
	return recordings, load.Wait()
}
