package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/input"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/reports"
	"autotune/reports/progress"
	"autotune/space"
	"autotune/tuner"
	"autotune/tuner/batch"
	"autotune/tuner/bestconfig"
	"autotune/tuner/devices"
	"autotune/tuner/family"
	"autotune/tuner/store"
	"autotune/tuner/strategy"
)

// By default a search ends after defaultBudget variants or after defaultTime.
const (
	defaultBudget = 1000
	defaultTime   = 30 * time.Second
)

// usualSearch returns how a command searches a problem if it has no flags for that but a time limit.
func usualSearch(limit time.Duration) tuner.Options {
	return tuner.Options{Strategy: strategy.Default, Seed: 1, Budget: defaultBudget, Time: limit, Target: strategy.Target}
}

type searchFlags struct {
	problem    problemFlags
	shapes     []string
	problems   string // the file of --problems
	conditions conditionFlags
	device     deviceFlags
	cache      string
	noCache    bool
	options    tuner.Options
	anyTarget  bool // --target is given
	baselines  []string
	outputs    outputFlags
	view       view
}

func searchCommand() *cli.Command {
	f := &searchFlags{}
	return command("search OPERATOR", "find the fastest correct configuration of an operator's kernels",
		"Compiles, verifies and times configurations of the operator's templates on the device, keeps every "+
			"trial in the cache, and prints the winner with the evidence.",
		f.search, f.flags()...)
}

func (f *searchFlags) flags() []flag {
	o := &f.options
	return slices.Concat([]flag{listFlag(&f.shapes, "shape", shapeUsage+"; may be repeated")}, f.problem.unshaped(),
		[]flag{
			textFlag(&f.problems, "problems", "",
				"search every problem of a YAML or JSON `FILE`: a list of operator, shape, parameters, math, free, baselines"),
		}, f.problem.only.flags(), f.conditions.flags(), []flag{
			f.problem.only.configFlag(), f.device.flag(severalUsage), cacheFlag(&f.cache),
		}, f.device.nats.flags(), []flag{
			textFlag(&f.device.gpu, "gpu", "",
				"with --nats: only workers whose device has `NAME` in its name, as h100 (default: as the first worker's)"),
			boolFlag(&f.noCache, "no-cache", "neither use nor keep trials"),
			textFlag(&o.Strategy, "strategy", strategy.Default, "how to walk the space: "+strings.Join(strategy.Names(), ", ")),
			seedFlag(&o.Seed, "`SEED` of the strategy"),
			intFlag(&o.Budget, "budget", defaultBudget, "evaluate at most `N` variants, remembered ones included; 0: all"),
			timeFlag(&o.Time, "time", defaultTime, "search for at most this `LONG`, as 90s or 10m; 0: no limit"),
			floatFlag(&o.Target, "target", strategy.Target, "end early when a gain by this `FACTOR` is unlikely (under 5 %; "+
				"later 15 %); 0: never. Unless given, it is off with --budget, with another --strategy and without a GPU"),
			boolFlag(&o.Fresh, "fresh", "do not use what the cache remembers"),
			jsonFlag(&f.outputs.json),
			plotFlag(&f.outputs.plot),
			textFlag(&f.outputs.record, "record", "", "write a recording (T4 JSON, gzip) to `FILE`, or into a folder"),
			baselineFlag(&f.baselines), f.view.quietFlag(), f.view.verboseFlag(),
		})
}

func (f *searchFlags) check(l line) (err error) {
	o := &f.options
	switch f.anyTarget = l.given("target"); {
	case o.Budget < 0 || o.Time < 0:
		return errors.New("--budget and --time take a number that is not negative; 0 means no limit")
	case f.noCache && f.cache != "":
		return errors.New("--no-cache keeps nothing in the file that --cache names; give one of them")
	case o.Target != 0 && !(o.Target > 1 && o.Target <= math.MaxFloat64):
		return fmt.Errorf("--target %v: want a factor above 1, as 1.05, or 0 to search on", o.Target)
	}
	// A user who sets the number of variants wants all of them, so the search does not end early. A search with a
	// strategy other than the default does not end early, since the estimate of what is left to gain was tested with
	// the default strategy only.
	if !f.anyTarget && (l.given("budget") || o.Strategy != strategy.Default) {
		o.Target = 0
	}
	if o.Conditions, err = f.conditions.conditions(); err != nil {
		return err
	}
	return oneOf("strategy", o.Strategy, strategy.Names())
}

func (f *searchFlags) search(ctx context.Context, l line) (err error) {
	problems, err := f.requests(ctx, l)
	if err != nil {
		return err
	}
	if err := f.check(l); err != nil {
		return err
	}
	if err := f.outputs.check(len(problems)); err != nil {
		return err
	}
	opener, err := f.device.opener(f.view, devices.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opener.Close()) }()
	o := batch.Options{Search: f.options, AnyTarget: f.anyTarget, Tool: tool(), Notice: tell}
	endRivals, err := rivalsInto(&o.Search, f.baselines, f.device, f.problems != "")
	if err != nil {
		return err
	}
	defer endRivals()
	if !f.noCache {
		open, closeStore := lazily(ctx, f.cache)
		o.Store = open
		defer func() { err = errors.Join(err, closeStore()) }()
	}
	out := newOutputs(f.outputs, f.view, f.device.device, len(problems))
	show := newShown(f.view, f.conditions, f.outputs.plot, len(problems))
	o.With, o.Stands = show.search, show.all.Print
	o.Found = func(r batch.Request, t *tuner.Result, best bestconfig.Document) error {
		return badInput(out.deliver(ctx, r, t, best))
	}
	o.Failed = out.unsolved.failed
	err = batch.Search(ctx, opener, problems, o)
	return errors.Join(err, out.finish())
}

// lazily returns a function that opens the cache when it is first called, and one that closes an opened cache.
func lazily(ctx context.Context, cache string) (open func() (*store.Store, error), closeStore func() error) {
	var kept *store.Store
	open = sync.OnceValues(func() (s *store.Store, err error) {
		kept, err = openStore(ctx, cache, store.Options{})
		return kept, err
	})
	return open, func() error {
		if kept == nil {
			return nil
		}
		return kept.Close()
	}
}

type shownSearches struct {
	view       view
	conditions conditionFlags
	plot       string
	all        *progress.Many
}

func newShown(v view, conditions conditionFlags, plot string, problems int) *shownSearches {
	return &shownSearches{v, conditions, plot, v.many(problems)}
}

// search searches one problem. The progress of a single problem is shown only if no other problem is searched at the
// same time.
func (s *shownSearches) search(ctx context.Context, r batch.Request, on *devices.Opened, o tuner.Options,
	beside bool) (*tuner.Result, error) {
	if err := s.conditions.check(on.Device, o.Conditions); err != nil {
		return nil, err
	}
	s.all.Print(!beside)
	var show progress.Progress
	if beside {
		show = s.all.One(r.String())
	} else {
		show = s.view.progressOn(on)
	}
	result, err := s.view.searchWith(ctx, on, o, show)
	if result != nil {
		result.Ceilings.Peaks = peaksOf(ctx, on.Device, s.view, s.plot != "")
	}
	if !errors.Is(err, device.ErrGone) || !beside {
		s.all.Finish(r.String())
	}
	return result, err
}

// search runs a search on an open device and shows its progress. The error of a search without a result contains the
// exit code for the program.
func (v view) search(ctx context.Context, on *devices.Opened, o tuner.Options) (*tuner.Result, error) {
	return v.searchWith(ctx, on, o, v.progressOn(on))
}

func (v view) progressOn(on *devices.Opened) progress.Progress {
	if on.Notice != "" {
		tell(on.Notice)
	}
	return v.progress(on.Problem.String())
}

func (v view) searchWith(ctx context.Context, on *devices.Opened, o tuner.Options,
	show progress.Progress) (*tuner.Result, error) {
	o.Observe = show.Update
	if o.Protocol.Samples == 1 { // a verification checks results and measures no times
		o.Observe = func(p tuner.Progress) {
			p.Best = nil
			show.Update(p)
		}
	}
	if v.verbose {
		then, out := o.Evaluated, output.Plain(os.Stderr)
		o.Evaluated = func(t trial.Trial) {
			// A failed write is ignored: the search must go on even if its output cannot be written.
			_, _ = io.WriteString(out, reports.TrialText(t, on.Device.Info().Kind.Properties()))
			if then != nil {
				then(t)
			}
		}
	}
	result, err := tuner.Search(ctx, on.Problem, on.Device, o)
	show.Done()
	if result == nil {
		err = deviceTrouble(err)
	}
	return result, err
}

// deviceTrouble adds the exit code for device errors to every error of a search that the user's request did not cause.
func deviceTrouble(err error) error {
	var refused *operator.RequestError
	var reference *device.ReferenceError
	var known *coded
	if errors.Is(err, tuner.ErrNoVariant) || errors.Is(err, space.ErrTooLarge) ||
		errors.As(err, &refused) || errors.As(err, &reference) || errors.As(err, &known) {
		return err
	}
	return withCode(exitDevice, err)
}

func (f *searchFlags) requests(ctx context.Context, l line) ([]batch.Request, error) {
	if f.problems != "" {
		if len(l.arguments) > 0 || f.shapes != nil || f.problem.set != nil || f.problem.free != "" {
			return nil, errors.New("--problems names operators, shapes and parameters itself; give it alone")
		}
		asked, err := readProblems(ctx, f.problems, f.problem.only, noFamilies)
		return asked.problems, err
	}
	op, err := operatorArgument(l)
	if err != nil {
		return nil, err
	}
	baselines, _, err := baselinesOf(f.baselines)
	if err != nil {
		return nil, err
	}
	if len(baselines) > 0 && len(f.shapes) > 1 {
		return nil, errors.New("--baseline is one problem's time; with several shapes use --problems and its baselines")
	}
	shapes := f.shapes
	if len(shapes) == 0 {
		shapes = []string{""}
	}
	var all []batch.Request
	for _, shape := range shapes {
		f.problem.shape = shape
		request, err := f.problem.exampleRequest(op)
		if err != nil {
			return nil, err
		}
		r := batch.Request{Name: l.first(), Operator: op, Request: request, Baselines: baselines}
		if _, err := r.Operator.Bind(r.Request, operator.TypicalLimits()); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

var problemsBound = input.Bound{Kind: "a problems file", Bytes: 256 << 10}

type listed struct {
	problems []batch.Request
	plans    []family.Plan

	places map[string]int // each problem's index in the list
	again  int            // how many problems were listed twice
}

type planner func(batch.Request, family.Shapes) (family.Plan, error)

// readProblems reads a list of problems, in YAML or JSON, and checks all of it before anything is searched. Flags may
// restrict the search to a part of each problem's space.
func readProblems(ctx context.Context, path string, part partFlags, plan planner) (l listed, err error) {
	text, err := input.File(ctx, path, problemsBound.Read)
	if err != nil {
		return l, err
	}
	asked, err := operator.ReadProblems(path, string(text))
	if err != nil {
		return l, err
	}
	only, err := part.restriction()
	if err != nil {
		return l, err
	}
	var faults []error
	operators := map[string]*operator.Operator{}
	l.places = map[string]int{}
	for i, a := range asked {
		op, err := operators[a.Operator], error(nil)
		if op == nil {
			op, err = findOperator(a.Operator)
			operators[a.Operator] = op
		}
		a.Request.Only = only
		if err == nil {
			err = checkBaselines(a.Baselines)
		}
		if err == nil {
			r := batch.Request{Name: a.Operator, Operator: op, Request: a.Request, Baselines: a.Baselines, Share: a.Share}
			err = l.add(r, a.Ranges, plan)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: problem %d: %w", a.At, i+1, err))
		}
	}
	if l.again > 0 && len(faults) == 0 {
		tell(path + ": " + output.Count(l.again, "problem") + " listed before; each problem is searched once")
	}
	slices.SortStableFunc(l.problems, func(a, b batch.Request) int { return cmp.Compare(b.Share, a.Share) })
	return l, errors.Join(faults...)
}

// add adds a problem to the list, or a family if the shape contains ranges. If the list already contains the problem,
// the function add adds the new share to the problem's earlier share.
func (l *listed) add(r batch.Request, ranges string, plan planner) error {
	if ranges != "" {
		shapes, err := family.ParseShapes(ranges)
		if err != nil {
			return err
		}
		p, err := plan(r, shapes)
		l.plans = append(l.plans, p)
		return err
	}
	p, err := r.Operator.Bind(r.Request, operator.TypicalLimits())
	if err != nil {
		return err
	}
	key := fmt.Sprintf("%s %v %v", p, p.Free, operator.AutoMath(r.Math))
	if at, known := l.places[key]; known {
		l.problems[at].Share = min(1, l.problems[at].Share+r.Share)
		maps.Copy(l.problems[at].Baselines, r.Baselines)
		l.again++
		return nil
	}
	l.places[key] = len(l.problems)
	l.problems = append(l.problems, r)
	return nil
}

func noFamilies(_ batch.Request, shapes family.Shapes) (family.Plan, error) {
	return family.Plan{}, fmt.Errorf("%s has ranges, for which `autotune tune --problems` finds a family; a search takes "+
		"one shape", shapes)
}
