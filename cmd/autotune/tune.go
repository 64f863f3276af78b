package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/pack/prove"
	"autotune/reports"
	"autotune/reports/progress"
	"autotune/tuner"
	"autotune/tuner/batch"
	"autotune/tuner/bestconfig"
	"autotune/tuner/devices"
	"autotune/tuner/family"
)

type tuneFlags struct {
	problem               problemFlags
	problems, cache, json string
	conditions            conditionFlags
	device                deviceFlags
	samples, heldOut      int
	maxSlowdown           float64
	budget, time          time.Duration
	baselines             []string
	view                  view
}

func tuneCommand() *cli.Command {
	var f tuneFlags
	return command("tune OPERATOR", "find a few kernels for many shapes, and the tree that chooses among them",
		"Draws samples from the shapes, searches each, times every winner on every sample, and keeps the "+
			"fewest that are nowhere much slower than the shape's own best. Shapes that are held out tell what is lost. With "+
			"--problems each problem of a file gets a kernel of its own, and only shapes with ranges make families.",
		f.tune, f.flags()...)
}

func (f *tuneFlags) flags() []flag {
	return slices.Concat([]flag{
		textFlag(&f.problem.shape, "shape", "",
			"`SHAPES` with ranges, as {1,8,32}x64x{14..112}x{14..112}; `autotune ops show OP` names the dimensions"),
	}, f.problem.fixed(), []flag{
		textFlag(&f.problems, "problems", "",
			"instead, search each problem of a YAML or JSON `FILE`, and then tune those whose shape has ranges"),
		intFlag(&f.samples, "samples", 20, "search `N` shapes, 64 at most"),
		intFlag(&f.heldOut, "held-out", 10, "try what was found at `N` other shapes, 64 at most"),
		floatFlag(&f.maxSlowdown, "max-slowdown", 1.1, "accept a kernel up to `FACTOR` times slower than the best"),
		timeFlag(&f.budget, "budget", 0,
			"take about this `LONG` for a family, or for --problems in all, as 10m; 0: no limit"),
		timeFlag(&f.time, "time", 3*time.Second, "of one search, at most this `LONG`"),
	}, f.problem.only.flags(), f.conditions.flags(), []flag{
		f.device.flag(severalUsage), cacheFlag(&f.cache), baselineFlag(&f.baselines),
		textFlag(&f.json, "json", "", "write the family to `FILE`, several as a list; - is standard output", "o"),
		f.view.quietFlag(),
	})
}

func (f *tuneFlags) tune(ctx context.Context, l line) (err error) {
	asked, err := f.asked(ctx, l)
	if err != nil {
		return err
	}
	o, err := f.options()
	if err != nil {
		return err
	}
	if f.json != "" {
		if err := output.Check(f.json); err != nil {
			return fmt.Errorf("--json %s: %w", f.json, err)
		}
	}
	noLine := func(string) func() { return func() {} } // a family shows its own progress line
	opener, err := f.device.opener(f.view, devices.Options{Runs: true, Await: noLine})
	if err != nil {
		return err
	}
	open, closeStore := lazily(ctx, f.cache)
	defer func() { err = errors.Join(err, opener.Close(), closeStore()) }()
	o.Store = open
	t := &tuning{tuneFlags: f, opener: opener, o: o}
	if err = t.all(ctx, asked); err != nil && len(t.families)+len(t.winners)+len(t.unsolved.rows) == 0 {
		return err
	}
	return errors.Join(err, badInput(write(f.json, t.write, func(w io.Writer) error {
		return family.WriteJSON(w, append([]*family.Family{}, t.families...))
	})))
}

// asked reads which problems and families to tune, from --problems or from an operator and shapes with ranges.
func (f *tuneFlags) asked(ctx context.Context, l line) (asked listed, err error) {
	if f.problems != "" {
		if len(l.arguments) > 0 || f.problem.shape != "" || f.problem.set != nil || f.problem.math != "auto" {
			return asked, errors.New("--problems names operators, shapes and parameters itself; leave OPERATOR, --shape, " +
				"--set and --math away")
		}
		return readProblems(ctx, f.problems, f.problem.only, f.plan)
	}
	op, err := operatorArgument(l)
	if err != nil {
		return asked, err
	}
	if f.problem.shape == "" {
		return asked, fmt.Errorf("%s needs --shape %s with ranges, as {1,8,32} or {14..112}, for some dimensions",
			op.Name, shapeForm(op))
	}
	shapes, err := family.ParseShapes(f.problem.shape)
	if err != nil {
		return asked, fmt.Errorf("--shape: %w", err)
	}
	r := batch.Request{Name: l.first(), Operator: op}
	if err := f.problem.rest(&r.Request); err != nil {
		return asked, err
	}
	p, err := f.plan(r, shapes)
	asked.plans = []family.Plan{p}
	return asked, err
}

func (f *tuneFlags) plan(r batch.Request, shapes family.Shapes) (family.Plan, error) {
	return family.NewPlan(r, shapes, f.samples, f.heldOut)
}

func (f *tuneFlags) options() (o family.Options, err error) {
	o = family.Options{MaxSlowdown: f.maxSlowdown, Budget: f.budget, Tool: tool(), Notice: tell}
	o.Search = usualSearch(f.time)
	switch {
	case !(o.MaxSlowdown >= 1 && o.MaxSlowdown <= 100) || math.IsNaN(o.MaxSlowdown):
		return o, fmt.Errorf("--max-slowdown %v: want a factor from 1 to 100, as 1.1", o.MaxSlowdown)
	case o.Budget < 0 || o.Search.Time <= 0:
		return o, errors.New("--budget takes a time that is not negative, and --time one above 0")
	}
	o.Search.Conditions, err = f.conditions.conditions()
	return o, err
}

type tuning struct {
	*tuneFlags
	opener   *devices.Opener
	o        family.Options
	families []*family.Family
	winners  []bestconfig.Document
	unsolved unsolved
	last     error // why the last problem without a kernel has none
}

// all searches the problems and then tunes the families, each in the order of their shares. If the search of a problem
// or family fails, all goes on with the next one. With --problems, the budget is the total for all problems and
// families.
func (t *tuning) all(ctx context.Context, asked listed) error {
	problems := len(asked.problems)
	shares := lists.Of(asked.problems, func(r batch.Request) float64 { return r.Share })
	weights := batch.Weights(append(shares, lists.Of(asked.plans, func(p family.Plan) float64 { return p.Share })...))
	var whole *batch.Budget
	if t.problems != "" {
		whole = batch.NewBudget(t.budget, 1, weights)
	}
	if problems > 0 {
		searching := 0.0
		for _, w := range weights[:problems] {
			searching += w
		}
		part, _ := whole.Next(searching)
		if err := t.search(ctx, asked.problems, part); err != nil {
			return err
		}
		whole.Done(part)
	}
	for i, p := range asked.plans {
		if err := t.family(ctx, p, whole, weights[problems+i]); err != nil {
			return err
		}
	}
	if t.last != nil {
		return &batch.NotAllError{Last: t.last, Some: len(t.winners)+len(t.families) > 0}
	}
	return nil
}

func (t *tuning) search(ctx context.Context, problems []batch.Request, part batch.Part) error {
	o := batch.Options{
		Search: t.o.Search, AnyTarget: true, Budget: part.Limit, Store: t.o.Store, Tool: t.o.Tool, Notice: tell,
		Failed: t.failed,
		Found: func(_ batch.Request, _ *tuner.Result, best bestconfig.Document) error {
			if best.Found() {
				t.winners = append(t.winners, best)
			}
			return nil
		},
	}
	end, err := rivalsInto(&o.Search, t.baselines, t.device, true)
	if err != nil {
		return err
	}
	defer end()
	show := newShown(t.view, t.conditions, "", len(problems))
	o.With, o.Stands = show.search, show.all.Print
	err = batch.Search(ctx, t.opener, problems, o)
	var some *batch.NotAllError
	var interrupted *batch.InterruptedError
	switch {
	case err == nil || errors.As(err, &some): // each failure was printed already
		return nil
	case batch.Ends(ctx, err) || errors.As(err, &interrupted) || len(problems) > 1:
		return deviceTrouble(err)
	}
	t.failed(problems[0], err)
	return nil
}

func (t *tuning) failed(r batch.Request, err error) {
	if !errors.Is(err, batch.ErrNoTime) {
		t.last = deviceTrouble(err)
	}
	t.unsolved.failed(r, err)
}

func (t *tuning) family(ctx context.Context, p family.Plan, whole *batch.Budget, weight float64) error {
	o := t.o
	part, ok := whole.Next(weight)
	if !ok {
		t.unsolved.add(p.String(), notSearched, batch.ErrNoTime)
		return nil
	}
	defer whole.Done(part)
	if whole != nil {
		o.Budget = part.Limit
	}
	found, err := t.tuneOne(ctx, p, o)
	switch {
	case batch.Ends(ctx, err) || err != nil && t.problems == "":
		return err
	case err != nil:
		t.last = err
		t.unsolved.add(p.String(), statusOf(err), err)
	default:
		t.families = append(t.families, found)
	}
	return nil
}

func (t *tuning) tuneOne(ctx context.Context, p family.Plan, o family.Options) (*family.Family, error) {
	cache, err := cachePath(t.cache)
	if err != nil {
		return nil, err
	}
	said := t.view.await(p.String())
	defer said.Done()
	o.Progress = t.progress(p, said)
	f, err := family.Tune(ctx, t.opener, p, o)
	if err != nil {
		return nil, deviceTrouble(err)
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%s %v %v %v %v %v", p, p.Request.Request, p.Samples, p.HeldOut, t.device.device,
		o.Search.Conditions))
	folder := prove.FamiliesFolder(cache)
	if err = os.MkdirAll(folder, 0o755); err == nil {
		write := func(w io.Writer) error { return family.WriteJSON(w, []*family.Family{f}) }
		err = output.To(filepath.Join(folder, fmt.Sprintf("%s-%x.json", p.Operator.Name, key[:8])), write)
	}
	return f, batch.Keeping(err)
}

func (t *tuning) progress(p family.Plan, said *progress.Wait) func(step string, done, of int) {
	if t.view.quiet {
		return nil
	}
	say(fmt.Sprintf("%s: %s and %d held out", p, output.Count(len(p.Samples), "sample"), len(p.HeldOut)))
	began, last := time.Now(), time.Now()
	return func(step string, done, of int) {
		text := fmt.Sprintf("%d/%d  %s", done, of, step)
		if left := time.Since(began) / time.Duration(done) * time.Duration(of-done); left > 0 {
			text += "  ETA " + left.Round(time.Second).String()
		}
		said.Now(p.String() + ": " + text)
		if !said.Shown() && (done == of || time.Since(last) >= progress.Every) {
			last = time.Now()
			say(text)
		}
	}
}

func (t *tuning) write(w io.Writer) error {
	var err error
	for _, f := range t.families {
		err = errors.Join(err, f.WriteText(w))
	}
	some := len(t.families) > 0
	for _, part := range []struct {
		any   bool
		write func() error
	}{
		{len(t.winners) > 0, func() error {
			return reports.SummaryTable(w, t.winners,
				max(tableColumns, columnsOf(os.Stdout)))
		}},
		{len(t.unsolved.rows) > 0, func() error { return reports.UnsolvedTable(w, t.unsolved.rows) }},
	} {
		if !part.any {
			continue
		}
		if some {
			fmt.Fprintln(w)
		}
		some = true
		err = errors.Join(err, part.write())
	}
	return err
}
