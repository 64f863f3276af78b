package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"autotune/device/recording"
	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/pack/prove"
	"autotune/reports"
	"autotune/reports/webpage"
	"autotune/tuner/bestconfig"
	why "autotune/tuner/explain"
	"autotune/tuner/winners"
)

type reportFlags struct {
	winnerFlags
	html, json, plot string
}

func reportCommand() *cli.Command {
	var f reportFlags
	return command("report FILE...|OPERATOR", "put searches together in one table, JSON list, plot and web page",
		"Files are best-config documents and recordings; for --html also documents of families. With --shape "+
			"or --from it is instead about one winner of an operator, in the cache or in the file, with all its trials.",
		f.report, append(f.flags(),
			textFlag(&f.html, "html", "", "write one web page, which needs no network, to `FILE`"),
			jsonFlag(&f.json),
			plotFlag(&f.plot))...)
}

func (f *reportFlags) report(ctx context.Context, l line) error {
	switch err := distinct("json", f.json, "html", f.html); {
	case err != nil:
		return err
	case len(l.arguments) == 0 && f.from == "":
		return errors.New("which files? As in: autotune report a.json b.json.gz --html report.html")
	}
	if f.plot != "" {
		if err := checkPlots(f.plot); err != nil {
			return fmt.Errorf("--plot %s: %w", f.plot, err)
		}
	}
	said := view{}.await("putting searches together")
	defer said.Done()
	page, err := f.page(ctx, l)
	if err != nil {
		return err
	}
	list := lists.Of(page.Searches, func(s webpage.Search) bestconfig.Document { return s.Best })
	if len(page.Families) > 0 && (f.html == "" || f.json != "" || f.plot != "") {
		return errors.New("families go into a web page alone: --html FILE; `autotune tune` prints their tables")
	}
	if f.html != "" {
		if err := output.To(f.html, page.Write); err != nil {
			return badInput(err)
		}
	}
	said.Done()
	if f.html == output.Standard || len(list) == 0 {
		return nil
	}
	err = write(f.json, func(w io.Writer) error { return reports.SummaryTable(w, list, columnsOf(os.Stdout)) },
		func(w io.Writer) error { return bestconfig.WriteJSONList(w, list) })
	if err == nil && f.plot != "" {
		_, err = plotInto(f.plot, "summary.png", func(w io.Writer) error { return reports.SummaryPlot(w, list) })
	}
	return err
}

// page collects what the report shows: the files that the arguments name, or the winner that the flags name.
func (f *reportFlags) page(ctx context.Context, l line) (p webpage.Page, err error) {
	if f.problem.given() || f.from != "" {
		w, err := f.choose(ctx, l, winners.Request{Trials: true, AsRecorded: true})
		if err != nil {
			return p, err
		}
		failures := reports.FailuresOf(w.Trials, "")
		p.Searches = []webpage.Search{pageOf(ctx, w.best, w.Trials, w.Problem, failures)}
		return p, nil
	}
	for _, path := range l.arguments {
		if recording.Is(path) {
			s, err := recordedSearch(ctx, path)
			if err != nil {
				return p, err
			}
			p.Searches = append(p.Searches, s)
			continue
		}
		bests, families, err := prove.ReadDocuments(ctx, path)
		if err != nil {
			return p, err
		}
		for _, best := range bests {
			p.Searches = append(p.Searches, webpage.Search{Best: best})
		}
		p.Families = append(p.Families, families...)
	}
	return p, nil
}

func pageOf(ctx context.Context, best bestconfig.Document, trials []trial.Trial, p *operator.Problem,
	failures []reports.Failure) webpage.Search {
	addPeaks(&best)
	s := webpage.Search{Best: best, Trials: trials, Failures: failures}
	if best.Found() {
		s.Why = why.Of(ctx, subject(best, trials, p))
	}
	return s
}

// recordedSearch reads the search in a recording and interprets it with the operator as it is today.
func recordedSearch(ctx context.Context, path string) (s webpage.Search, err error) {
	recorded, err := recording.Load(ctx, path)
	if err != nil {
		return s, err
	}
	m := recorded.Metadata
	op, err := findOperator(m.Problem.Operator)
	if err != nil {
		return s, fmt.Errorf("%s: %w; an operator of your own is named by its folder, as in: autotune report ./%s --from %s",
			path, err, m.Problem.Operator, path)
	}
	p, err := op.Bind(m.Problem.Request(), m.Device.Limits)
	if err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	best, trials, err := bestconfig.FromRecording(recorded, p)
	if err != nil {
		return s, err
	}
	return pageOf(ctx, best, trials, p, reports.FailuresOf(trials, "")), nil
}
