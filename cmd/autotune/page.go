package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"autotune/device/recording"
	"autotune/device/trial"
	"autotune/internal/input"
	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/reports"
	"autotune/reports/webpage"
	"autotune/tuner/bestconfig"
	why "autotune/tuner/explain"
	"autotune/tuner/family"
	"autotune/tuner/store"
	"autotune/tuner/winners"
)

// pageName is what a page is called in a folder of plots.
const pageName = "report.html"

// pageOf is a search as a page tells of it. The problem is nil where there are no trials.
func pageOf(ctx context.Context, best bestconfig.Document, trials []trial.Trial, p *operator.Problem, d reports.Details) webpage.Search {
	withPeaks(&best)
	s := webpage.Search{Best: best, Trials: trials, Details: d}
	if best.Found() && p != nil {
		s.Why = why.Of(ctx, subjectOf(best, trials, p))
	}
	return s
}

// goesOn are the commands that go on from a winner. named is what names its problem.
func goesOn(best bestconfig.Document, named string) []string {
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
	words := []string{quoted(name)}
	words = append(words, lists.Of(problemWords(r), quoted)...)
	return strings.Join(words, " ")
}

// problemWords are the flags that name a problem.
func problemWords(r operator.Request) []string {
	words := []string{"--shape", operator.FormatShape(r.Shape)}
	for _, parameter := range slices.Sorted(maps.Keys(r.Parameters)) {
		words = append(words, "--set", parameter+"="+r.Parameters[parameter])
	}
	if r.Math != "" && r.Math != "auto" {
		words = append(words, "--math", r.Math)
	}
	if len(r.Free) > 0 {
		words = append(words, "--free", strings.Join(r.Free, ","))
	}
	return words
}

// writePage writes a page, under a title that names what is in it.
func writePage(path string, p webpage.Page) error {
	var parts []string
	if n := len(p.Searches); n > 0 {
		parts = append(parts, output.Count(n, "search"))
	}
	if n := len(p.Families); n > 0 {
		parts = append(parts, output.Count(n, "range")+" of shapes")
	}
	p.Title = strings.Join(parts, ", ")
	switch {
	case len(p.Searches) == 1 && len(p.Families) == 0:
		p.Title = reports.TextsOf(p.Searches[0].Best, reports.Details{}).Title
	case len(p.Searches) == 0 && len(p.Families) == 1:
		p.Title = p.Families[0].Title
	}
	return output.To(path, p.Write)
}

// reported is what `report` is asked about: files, or the winner that the flags mean.
func reported(c *cli.Context) (p webpage.Page, err error) {
	if c.Bool("history") {
		p.Searches, err = history(c)
		return p, err
	}
	if namesProblem(c) || c.IsSet("from") {
		w, err := chooseWinner(c, winners.Request{Trials: true, AsRecorded: true})
		if err != nil {
			return p, err
		}
		s := pageOf(c.Context, w.best, w.Trials, w.Problem, reports.Details{Failures: reports.FailuresOf(w.Trials, "")})
		s.Commands = goesOn(w.best, namedByFlags(c.Args().First(), w.best.Problem.Request()))
		p.Searches = []webpage.Search{s}
		return p, nil
	}
	for _, path := range c.Args().Slice() {
		if err := readReported(c.Context, path, &p); err != nil {
			return p, err
		}
	}
	return p, nil
}

// history is what the cache knows of a problem over drivers, compilers and dates, the oldest first.
func history(c *cli.Context) (list []webpage.Search, err error) {
	r := winners.Request{Device: c.String("device")}
	if err := readRequest(c, &r); err != nil {
		return nil, err
	}
	s, err := openStore(c, store.Options{ReadOnly: true, Wait: 5 * time.Second})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	eras, err := r.History(s)
	if err != nil {
		return nil, err
	}
	for _, e := range eras {
		p, err := r.Operator.Bind(e.Record.Problem.Request(), winners.LimitsOf(e.Device))
		if err != nil {
			return nil, err
		}
		list = append(list, pageOf(c.Context, bestconfig.FromRecord(e.Record), e.Trials, p, reports.Details{Failures: reports.FailuresOf(e.Trials, "")}))
	}
	return list, nil
}

// readReported adds what a file tells: a recording, or documents of searches or of families.
func readReported(ctx context.Context, path string, p *webpage.Page) error {
	if recording.Is(path) {
		s, err := recordedSearch(ctx, path)
		p.Searches = append(p.Searches, s)
		return err
	}
	_, err := input.File(ctx, path, func(r io.Reader) (any, error) {
		buffered := bufio.NewReader(r)
		if head, _ := buffered.Peek(200); familyHead.Match(head) {
			families, err := family.Read(buffered)
			for _, f := range families {
				p.Families = append(p.Families, familyPage(f, path))
			}
			return nil, err
		}
		bests, err := bestconfig.ReadAll(buffered)
		for _, b := range bests {
			s := pageOf(ctx, b, nil, nil, reports.Details{})
			s.Commands = goesOn(b, namedByFlags(b.Operator, b.Problem.Request()))
			p.Searches = append(p.Searches, s)
		}
		return nil, err
	})
	return err
}

// familyPage is a family of a file as a page tells of it.
func familyPage(f *family.Family, path string) webpage.Family {
	page := webpage.Family{
		Title: f.Operator + " " + f.Shapes, Axes: webpage.AxesOf(f), Tree: f.TreeText(),
		Setting:  fmt.Sprintf("%s, %s", f.Device.Name, f.At.UTC().Format(time.DateOnly)),
		Verdict:  fmt.Sprintf("%s, timed at %s.", output.Count(len(f.Entries), "kernel"), output.Count(len(f.Samples)+len(f.HeldOut), "shape")),
		Most:     f.MaxSlowdown,
		Commands: []string{"autotune pack layers --from " + quoted(path)},
	}
	if kind := f.Device.Kind.Properties(); kind.Caveat != "" {
		page.Setting += ", " + kind.Caveat + ": times say nothing about a GPU"
	}
	words := lists.Of(f.Parameters, func(p operator.Parameter) string { return p.Name + "=" + p.Value })
	page.Parameters = strings.Join(append(words, "math="+f.Math), " ")
	if r := f.Regret; r.Of > 0 {
		page.Verdict += fmt.Sprintf(" Where shapes were held out (%d), the chosen one takes %.3g times as long as the fastest at worst, %.3g times by the geometric mean.",
			r.Of, r.Worst, r.Mean)
	}
	for _, l := range f.LeftOut {
		page.LeftOut = append(page.LeftOut, operator.FormatShape(l.Shape)+": "+l.Reason)
	}
	for _, e := range f.Entries {
		page.Entries = append(page.Entries, e.Configuration.String())
	}
	var worst webpage.Shape
	var general, times float64 // the logarithms of how much slower than the chosen one, added up
	for i, s := range slices.Concat(f.Samples, f.HeldOut) {
		shape := webpage.Shape{Text: operator.FormatShape(s.Shape), Entry: s.Chosen, BestMS: s.OwnBest.Median, Slowdown: s.Slowdown, HeldOut: i >= len(f.Samples)}
		if s.General != nil && s.OwnBest.Median > 0 {
			shape.General = s.General.Median / s.OwnBest.Median
		}
		page.Shapes = append(page.Shapes, shape)
		if shape.Slowdown > worst.Slowdown {
			worst = shape
			page.Commands = append(page.Commands[:1], "autotune search "+namedByFlags(f.Operator, operator.ProblemRecord{Shape: s.Shape, Parameters: f.Parameters, Math: f.Math}.Request()))
		}
		if shape.General > 0 && s.Chosen >= 0 && s.Slowdown > 0 {
			general, times = general+math.Log(shape.General/s.Slowdown), times+1
		}
	}
	if times > 0 {
		page.Verdict += fmt.Sprintf(" The operator's plain kernel takes %.3g times as long as the chosen ones.", math.Exp(general/times))
	}
	return page
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
	best, trials, err := bestconfig.FromRecording(recorded, p)
	if err != nil {
		return s, err
	}
	s = pageOf(ctx, best, trials, p, reports.Details{Failures: reports.FailuresOf(trials, "")})
	s.Commands = append([]string{fmt.Sprintf("autotune search %s --device %s", namedByFlags(op.Name, p.Record().Request()), quoted("replay:"+path))},
		goesOn(best, namedByFlags(op.Name, p.Record().Request()))...)
	return s, nil
}
