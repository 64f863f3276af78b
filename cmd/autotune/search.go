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
	"path/filepath"
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
	"autotune/space"
	"autotune/tuner"
	"autotune/tuner/batch"
	"autotune/tuner/bestconfig"
	"autotune/tuner/devices"
	"autotune/tuner/family"
	"autotune/tuner/store"
	"autotune/tuner/strategy"
)

// A search ends, unless told otherwise, after so many variants or so long.
const (
	defaultBudget = 1000
	defaultTime   = 30 * time.Second
)

func searchCommand() *cli.Command {
	return &cli.Command{
		Name:        "search",
		Usage:       "find the fastest correct configuration of an operator's kernels",
		ArgsUsage:   "OPERATOR",
		Description: "Compiles, verifies and times configurations of the operator's templates on the device, keeps every trial in the cache, and prints the winner with the evidence.",
		Flags:       searchFlags(),
		Action:      searchAction,
	}
}

func searchFlags() []cli.Flag {
	return slices.Concat([]cli.Flag{
		&cli.StringSliceFlag{Name: "shape", Usage: shapeUsage + "; may be repeated"}, setFlag(), mathFlag(), freeFlag(),
		&cli.StringFlag{Name: "run", Usage: "give the run this `NAME`; started again with the same NAME, it skips problems whose search has ended"},
		&cli.StringFlag{Name: "problems", Usage: "search every problem of a YAML or JSON `FILE`: a list of operator, shape, parameters, math, free, baselines"},
	}, partFlags(), conditionFlags(), []cli.Flag{
		configFlag(), devicesFlag(), cacheFlag(),
	}, natsFlags(), []cli.Flag{
		&cli.StringFlag{Name: "gpu", Usage: "with --nats: only workers whose device has `NAME` in its name, as h100 (default: all with the first worker's device)"},
		&cli.BoolFlag{Name: "no-cache", Usage: "neither use nor keep trials"},
		&cli.StringFlag{Name: "strategy", Value: strategy.Default, Usage: "how to walk the space: " + strings.Join(strategy.Names(), ", ")},
		&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`SEED` of the strategy"},
		&cli.IntFlag{Name: "budget", Value: defaultBudget, Usage: "evaluate at most `N` variants, remembered ones included; 0: all"},
		&cli.DurationFlag{Name: "time", Value: defaultTime, Usage: "search for at most this `LONG`, as 90s or 10m; 0: no limit"},
		&cli.Float64Flag{Name: "target", Value: strategy.Target, Usage: "end early when a gain by this `FACTOR` is unlikely (under 5 %; later 15 %); 0: never. Unless given, it is off with --budget, with another --strategy and without a GPU"},
		objectiveFlag(),
		&cli.BoolFlag{Name: "fresh", Usage: "do not use what the cache remembers"},
		&cli.BoolFlag{Name: "energy", Usage: "measure the winner's energy per launch even if the search takes less than 6 s"},
		&cli.StringFlag{Name: "json", Usage: "write the best configuration to `FILE`; - is standard output"},
		plotFlag("; a search draws several"),
		&cli.StringFlag{Name: "record", Usage: "write a recording of the search (T4 JSON, gzip) to `FILE`, or into a folder"},
		baselineFlag(),
		quietFlag(),
		verboseFlag(), colorFlag(),
	})
}

func searchOptions(c *cli.Context) (batch.Options, error) {
	o := batch.Options{Objective: c.String("objective"), AnyTarget: c.IsSet("target"), Tool: tool()}
	o.Search = tuner.Options{
		Strategy: c.String("strategy"), Seed: c.Uint64("seed"), Budget: c.Int("budget"),
		Time: c.Duration("time"), Fresh: c.Bool("fresh"), Energy: c.Bool("energy"), Target: c.Float64("target"),
	}
	s := &o.Search
	var err error
	if s.Budget < 0 || s.Time < 0 {
		return o, errors.New("--budget and --time take a number that is not negative; 0 means no limit")
	}
	if c.Bool("no-cache") && c.IsSet("cache") {
		return o, errors.New("--no-cache keeps nothing in the file that --cache names; give one of them")
	}
	if s.Target != 0 && !(s.Target > 1 && s.Target <= math.MaxFloat64) {
		return o, fmt.Errorf("--target %v: want a factor above 1, as 1.05, or 0 to search on", s.Target)
	}
	// Whoever gives a number of variants wants them all. And the estimate of what there is to gain was only
	// tested on searches of the default strategy.
	if !c.IsSet("target") && (c.IsSet("budget") || s.Strategy != strategy.Default) {
		s.Target = 0
	}
	if err := checkColor(c); err != nil {
		return o, err
	}
	if s.Conditions, err = conditionsOf(c); err != nil {
		return o, err
	}
	return o, oneOf("strategy", s.Strategy, strategy.Names())
}

func searchAction(c *cli.Context) (err error) {
	problems, err := searchRequests(c)
	if err != nil {
		return err
	}
	o, err := searchOptions(c)
	if err != nil {
		return err
	}
	if err := checkOutputs(c, len(problems)); err != nil {
		return err
	}
	opener, err := deviceOpener(c, devices.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opener.Close()) }()
	if o.Run, err = runOf(c); err != nil {
		return err
	}
	endRivals, err := rivalsInto(c, &o.Search)
	if err != nil {
		return err
	}
	defer endRivals()
	if !c.Bool("no-cache") {
		var kept *store.Store
		o.Store = sync.OnceValues(func() (s *store.Store, err error) {
			kept, err = openStore(c, store.Options{})
			return kept, err
		})
		defer func() {
			if kept != nil {
				err = errors.Join(err, kept.Close())
			}
		}()
	}
	out := newOutputs(c, len(problems))
	show := &shownSearches{c: c, all: newManyProgress(len(problems) == 1 || c.Bool("quiet"), len(problems))}
	o.With, o.Stands = show.search, show.all.print
	o.Notice = func(text string) { tell([]string{text}) }
	o.Found = func(r batch.Request, t *tuner.Result, best bestconfig.Document) error {
		out.unsolved.uncompared(r, t)
		return badInput(out.deliver(r, t, best))
	}
	o.Known = func(best bestconfig.Document) error {
		show.all.skip()
		if !c.Bool("quiet") {
			say(os.Stderr, best.Problem.Text+": searched before in the run "+c.String("run"))
		}
		return badInput(out.show(best, reports.Details{}))
	}
	o.Failed = out.unsolved.failed
	err = batch.Search(c.Context, opener, problems, o)
	return errors.Join(err, out.unsolved.fault(err), out.finish(c.Context))
}

// runOf is the run that --run names; nil without the flag.
func runOf(c *cli.Context) (*batch.Run, error) {
	name := c.String("run")
	if name == "" {
		return nil, nil
	}
	dir, err := cacheDir()
	if err != nil {
		return nil, err
	}
	run, err := batch.OpenRun(filepath.Join(dir, "runs"), name)
	if err != nil {
		return nil, fmt.Errorf("--run %s: %w", name, err)
	}
	return run, nil
}

// shownSearches shows how the searches of a batch go.
type shownSearches struct {
	c   *cli.Context
	all *manyProgress
}

// search searches one problem, with a progress of its own unless others are searched
// beside it.
func (s *shownSearches) search(ctx context.Context, r batch.Request, on *devices.Opened, o tuner.Options, beside bool) (*tuner.Result, error) {
	if err := conditionsHere(s.c, on.Device, o.Conditions); err != nil {
		return nil, err
	}
	s.all.print(!beside)
	var result *tuner.Result
	var err error
	if beside {
		result, err = searchWith(ctx, s.c, on, o, &oneOfMany{s.all, r.String()})
	} else {
		result, err = searchWith(ctx, s.c, on, o, progressOn(s.c, on))
	}
	if result != nil {
		result.Ceilings.Peaks = peaksOf(ctx, s.c, on.Device)
	}
	if !errors.Is(err, device.ErrGone) || !beside {
		s.all.finish(r.String())
	}
	return result, err
}

// searchShown searches on a device that was opened, and shows how it goes. A
// search without a result has an error with its exit code.
func searchShown(ctx context.Context, c *cli.Context, opened *devices.Opened, o tuner.Options) (*tuner.Result, error) {
	return searchWith(ctx, c, opened, o, progressOn(c, opened))
}

// progressOn says which device was opened, and gives the progress of a search there.
func progressOn(c *cli.Context, opened *devices.Opened) progress {
	if opened.Notice != "" {
		say(os.Stderr, "autotune: "+opened.Notice)
	}
	return progressOf(c, opened.Problem.String())
}

// searchWith is searchShown with a progress of the caller's.
func searchWith(ctx context.Context, c *cli.Context, opened *devices.Opened, o tuner.Options, show progress) (*tuner.Result, error) {
	o.Observe = show.update
	if o.Protocol.Samples == 1 { // only results are checked, not times
		o.Observe = func(p tuner.Progress) {
			p.Best = nil
			show.update(p)
		}
	}
	if c.Bool("verbose") {
		then, out := o.Evaluated, painted(c, os.Stderr)
		o.Evaluated = func(t trial.Trial) {
			// The search goes on even if the output cannot be written.
			_, _ = io.WriteString(out, trialText(t, opened.Device.Info().Kind.Properties()))
			if then != nil {
				then(t)
			}
		}
	}
	result, err := tuner.Search(ctx, opened.Problem, opened.Device, o)
	show.done()
	if result == nil {
		err = deviceTrouble(err)
	}
	return result, err
}

// deviceTrouble gives the error of a search its exit code: one that is not about what was asked
// for is about the device.
func deviceTrouble(err error) error {
	var refused *operator.RequestError
	var reference *device.ReferenceError
	if errors.Is(err, tuner.ErrNoVariant) || errors.Is(err, space.ErrTooLarge) || errors.As(err, &refused) || errors.As(err, &reference) {
		return err
	}
	return withCode(exitDevice, err)
}

// searchRequests reads what to search: --problems, or an operator and shapes.
func searchRequests(c *cli.Context) ([]batch.Request, error) {
	if c.IsSet("problems") {
		if c.NArg() > 0 || c.IsSet("shape") || c.IsSet("set") || c.IsSet("free") {
			return nil, errors.New("--problems names operators, shapes and parameters itself; give it alone")
		}
		l, err := readProblems(c, c.String("problems"), noFamilies)
		return l.problems, err
	}
	op, err := operatorArgument(c)
	if err != nil {
		return nil, err
	}
	shapes := c.StringSlice("shape")
	if len(shapes) == 0 {
		shapes = []string{""}
	}
	baselines, _, err := baselinesOf(c)
	if err != nil {
		return nil, err
	}
	if len(baselines) > 0 && len(shapes) > 1 {
		return nil, errors.New("--baseline is one problem's time; with several shapes use --problems and its baselines")
	}
	var list []batch.Request
	for _, shape := range shapes {
		request, err := exampleRequest(c, op, shape)
		if err != nil {
			return nil, err
		}
		r := batch.Request{Name: c.Args().First(), Operator: op, Request: request, Baselines: baselines}
		if _, err := checkRequest(c, r); err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

var problemsBound = input.Bound{Kind: "a problems file", Bytes: 256 << 10}

// listed are the problems of a file, and the families that it asks for by shapes with ranges.
type listed struct {
	problems []batch.Request
	plans    []family.Plan
}

// readProblems reads a list of problems, in YAML or JSON. The flags may ask for part of each one's space. A shape with
// ranges is what planned makes of it. The list is checked whole, before anything is searched.
func readProblems(c *cli.Context, path string, planned func(batch.Request, family.Shapes) ([]family.Plan, error)) (l listed, err error) {
	text, err := input.File(c.Context, path, problemsBound.Read)
	if err != nil {
		return l, err
	}
	asked, err := operator.ReadProblems(path, string(text))
	if err != nil {
		return l, err
	}
	only, err := restriction(c)
	if err != nil {
		return l, err
	}
	var faults []error
	operators, again := map[string]*operator.Operator{}, 0
	places := map[string]int{} // of problems in the list
	for i, a := range asked {
		op, err := operators[a.Operator], error(nil)
		if op == nil {
			op, err = findOperator(a.Operator)
			operators[a.Operator] = op
		}
		a.Request.Only = only
		r := batch.Request{Name: a.Operator, Operator: op, Request: a.Request, Baselines: a.Baselines, Share: a.Share}
		if err == nil {
			err = checkBaselines(a.Baselines)
		}
		switch {
		case err != nil:
		case a.Ranges != "":
			var shapes family.Shapes
			var plans []family.Plan
			if shapes, err = family.ParseShapes(a.Ranges); err == nil {
				plans, err = planned(r, shapes)
			}
			l.plans = append(l.plans, plans...)
		default:
			var p *operator.Problem
			if p, err = checkRequest(c, r); err != nil {
				break
			}
			key := fmt.Sprintf("%s %v %v", p, p.Free, operator.AutoMath(r.Math))
			if at, known := places[key]; known {
				l.problems[at].Share = min(1, l.problems[at].Share+r.Share)
				maps.Copy(l.problems[at].Baselines, r.Baselines)
				again++
				continue
			}
			places[key] = len(l.problems)
			l.problems = append(l.problems, r)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: problem %d: %w", a.At, i+1, err))
		}
	}
	if again > 0 && len(faults) == 0 {
		tell([]string{path + ": " + output.Count(again, "problem") + " listed before; each problem is searched once"})
	}
	slices.SortStableFunc(l.problems, func(a, b batch.Request) int { return cmp.Compare(b.Share, a.Share) })
	return l, errors.Join(faults...)
}

// noFamilies refuses a shape with ranges.
func noFamilies(_ batch.Request, shapes family.Shapes) ([]family.Plan, error) {
	return nil, fmt.Errorf("%s has ranges, for which `autotune tune --problems` finds a family; a search takes one shape", shapes)
}

// checkRequest refuses what is wrong on every device, before a problem is searched that
// stands before this one.
func checkRequest(c *cli.Context, r batch.Request) (*operator.Problem, error) {
	p, err := r.Operator.Bind(r.Request, operator.TypicalLimits())
	if objective := c.String("objective"); err == nil && objective != "" {
		_, err = tuner.ParseObjective(r.Operator, objective)
	}
	return p, err
}
