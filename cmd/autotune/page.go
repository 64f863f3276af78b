package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/internal/output"
	"autotune/reports"
	"autotune/reports/webpage"
	why "autotune/tuner/explain"
	"autotune/tuner/operator"
	"autotune/tuner/recording"
	"autotune/tuner/trial"
)

// pageName is what a page is called in a folder of plots.
const pageName = "report.html"

// pageOf is a search as a page tells of it. The problem is nil where there are no trials.
func pageOf(ctx context.Context, best reports.BestConfig, trials []trial.Trial, p *operator.Problem, d reports.Details) webpage.Search {
	s := webpage.Search{Best: best, Trials: trials, Details: d}
	if best.Found() && p != nil {
		s.Why = why.Of(ctx, subjectOf(best, trials, p))
	}
	return s
}

// goesOn are the commands that go on from a winner. named is what names its problem.
func goesOn(best reports.BestConfig, named string) []string {
	if !best.Found() {
		return nil
	}
	configuration := quoted("template=" + strings.Join(append([]string{best.Template}, best.Values.Words()...), ","))
	list := []string{"autotune explain " + named, "autotune verify " + named + " --config " + configuration}
	if best.Recording == nil {
		list = append(list, "autotune search "+named+" --target 0", "autotune export "+named+" --format cu -o winner.cu")
	}
	return list
}

// namedByFlags names an operator's problem as a command line does.
func namedByFlags(name string, r operator.Request) string {
	words := []string{quoted(name), "--shape", operator.FormatShape(r.Shape)}
	for _, parameter := range slices.Sorted(maps.Keys(r.Parameters)) {
		words = append(words, "--set", quoted(parameter+"="+r.Parameters[parameter]))
	}
	if r.Math != "" && r.Math != "auto" {
		words = append(words, "--math", r.Math)
	}
	if len(r.Free) > 0 {
		words = append(words, "--free", strings.Join(r.Free, ","))
	}
	return strings.Join(words, " ")
}

// writePage writes a page of searches.
func writePage(path string, searches []webpage.Search) error {
	title := fmt.Sprintf("%d searches", len(searches))
	if len(searches) == 1 {
		title = searches[0].Best.Tell(reports.Details{}).Title
	}
	return output.To(path, func(w io.Writer) error { return webpage.Write(w, title, searches) })
}

// reported are the searches that `report` is asked about: of files, or of the winner that
// the flags mean.
func reported(c *cli.Context) ([]webpage.Search, error) {
	if namesProblem(c) || c.IsSet("from") {
		w, err := chooseWinner(c, true)
		if err != nil {
			return nil, err
		}
		s := pageOf(c.Context, w.best, w.Trials, w.Problem, reports.Details{Failures: reports.FailuresOf(w.Trials, "")})
		s.Commands = goesOn(w.best, namedByFlags(c.Args().First(), w.best.Problem.Request()))
		return []webpage.Search{s}, nil
	}
	var list []webpage.Search
	for _, path := range c.Args().Slice() {
		read, err := searchesOf(c.Context, path)
		if err != nil {
			return nil, err
		}
		list = append(list, read...)
	}
	return list, nil
}

// searchesOf reads a recording, or best-config documents.
func searchesOf(ctx context.Context, path string) ([]webpage.Search, error) {
	if recording.Is(path) {
		s, err := recordedSearch(ctx, path)
		return []webpage.Search{s}, err
	}
	bests, err := readBests(ctx, path)
	if err != nil {
		return nil, err
	}
	list := make([]webpage.Search, len(bests))
	for i, b := range bests {
		list[i] = pageOf(ctx, b, nil, nil, reports.Details{})
		list[i].Commands = goesOn(b, namedByFlags(b.Operator, b.Problem.Request()))
	}
	return list, nil
}

// recordedSearch is the search in a recording, by the operator as it is today.
func recordedSearch(ctx context.Context, path string) (s webpage.Search, err error) {
	recorded, err := recording.Load(ctx, path)
	if err != nil {
		return s, err
	}
	m := recorded.Metadata
	op, err := findOperator(m.Problem.Operator)
	if err != nil {
		return s, fmt.Errorf("%s: %w; an operator of your own is named by its folder, as in: autotune report ./%s --from %s", path, err, m.Problem.Operator, path)
	}
	p, err := op.Bind(m.Problem.Request(), m.Device.Limits)
	if err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	best, trials, err := reports.FromRecording(recorded, p)
	if err != nil {
		return s, err
	}
	s = pageOf(ctx, best, trials, p, reports.Details{Failures: reports.FailuresOf(trials, "")})
	s.Commands = append([]string{fmt.Sprintf("autotune search %s --device %s", namedByFlags(op.Name, p.Record().Request()), quoted("replay:"+path))},
		goesOn(best, namedByFlags(op.Name, p.Record().Request()))...)
	return s, nil
}
