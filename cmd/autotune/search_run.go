package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/urfave/cli/v2"

	"autotune/internal/output"
	"autotune/reports"
	"autotune/tuner"
	"autotune/tuner/device"
	"autotune/tuner/devices"
	"autotune/tuner/operator"
	"autotune/tuner/store"
	"autotune/tuner/trial"
)

func searchAction(c *cli.Context) (err error) {
	problems, err := searchProblems(c)
	if err != nil {
		return err
	}
	only, err := restriction(c)
	if err != nil {
		return err
	}
	options, err := searchOptions(c)
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
	named, err := openRun(c.String("run"))
	if err != nil {
		return errors.Join(err, opener.Close())
	}
	run := &searchRun{c: c, opener: opener, options: options, out: newOutputs(c, len(problems)), named: named}
	defer func() { err = errors.Join(err, run.close()) }()
	for i := range problems {
		problems[i].request.Only = only
	}
	if side, err := run.sideBySide(problems); side != nil || err != nil {
		return errors.Join(err, side.all(problems), run.out.finish())
	}
	failed := error(nil)
	show := newManyProgress(len(problems) == 1 || c.Bool("quiet"), len(problems))
	for _, w := range problems {
		err := run.search(w, show)
		if len(problems) == 1 || errors.Is(err, context.Canceled) || c.Context.Err() != nil {
			return errors.Join(err, run.out.finish())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "autotune: "+explain(err))
			failed = withCode(exitCode(err), errNotAll)
		}
	}
	return errors.Join(failed, run.out.finish())
}

var errNotAll = errors.New("not every problem has a winner")

// searchRun searches problems one after another on one device, with one cache.
type searchRun struct {
	c       *cli.Context
	opener  *devices.Opener
	options tuner.Options
	store   *store.Store // opened when first needed: not every device's trials are kept
	out     *outputs
	named   *namedRun  // nil: the run has no name
	mu      sync.Mutex // of what several searches deliver to
}

func (r *searchRun) close() error {
	err := r.opener.Close()
	if r.store != nil {
		err = errors.Join(err, r.store.Close())
	}
	return err
}

// search searches one problem and delivers what was found. all counts it.
func (r *searchRun) search(w searchProblem, all *manyProgress) error {
	options, err := r.optionsFor(w)
	if err != nil {
		return err
	}
	opened, err := r.opener.Open(r.c.Context, w.operator, w.request)
	if err != nil {
		return err
	}
	if known, err := r.again(opened, options); known || err != nil {
		all.skip()
		return err
	}
	all.print(true)
	err = r.searchOn(w, opened, options, nil)
	all.finish(w.label())
	return err
}

// optionsFor are the options of one problem's search.
func (r *searchRun) optionsFor(w searchProblem) (o tuner.Options, err error) {
	o = r.options
	if o.Objective, err = tuner.ParseObjective(w.operator, r.c.String("objective")); err != nil {
		return o, badInput(err)
	}
	if o.Objective != (tuner.Objective{}) {
		o.Target = 0 // what is left to gain is known of times
	}
	o.Baselines = w.baselines
	return o, nil
}

// again delivers what a run of this name has found of a problem; not known: nothing yet.
func (r *searchRun) again(opened *devices.Opened, o tuner.Options) (known bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	best, known, err := r.named.found(r.c.Context, opened, o)
	if !known || err != nil {
		return false, err
	}
	return true, badInput(r.out.deliverKnown(best))
}

// searchOn searches a problem on a device that is open. show shows how it goes; nil: as
// the flags ask.
func (r *searchRun) searchOn(w searchProblem, opened *devices.Opened, options tuner.Options, show progress) (err error) {
	if err := conditionsHere(r.c, opened.Device, options.Conditions); err != nil {
		return err
	}
	can := opened.Device.Info().Kind.Properties()
	if !can.Measures && !r.c.IsSet("target") {
		options.Target = 0 // times of a CPU are no reason to end, and a recording is walked to its end
	}
	if can.Persists && !r.c.Bool("no-cache") {
		if options.Store, err = r.openStore(); err != nil {
			return err
		}
	}
	var result *tuner.Result
	if show == nil {
		result, err = searchShown(r.c.Context, r.c, opened, options)
	} else {
		result, err = searchWith(r.c.Context, r.c, opened, options, show)
	}
	if result == nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	best := reports.FromRecord(result.Record)
	best.Tool = "autotune " + version()
	if err := r.out.deliver(w, result, best); err != nil {
		return badInput(err)
	}
	if result.Stop != tuner.Interrupted && best.Found() && can.Persists {
		if err := r.named.keep(opened, options, best); err != nil {
			return err
		}
	}
	if result.Stop == tuner.Interrupted {
		kept := "what was done is kept, and the same command goes on from there"
		if options.Store == nil {
			kept = "nothing of it is kept"
		}
		return withCode(exitInterrupted, fmt.Errorf("interrupted after %s; %s", output.Count(len(result.Trials), "trial"), kept))
	}
	return err
}

func (r *searchRun) openStore() (*store.Store, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.store == nil {
		var err error
		if r.store, err = openStore(r.c, store.Options{}); err != nil {
			return nil, err
		}
	}
	return r.store, nil
}

// searchShown searches on a device that was opened, and shows how it goes. A
// search without a result has an error with its exit code.
func searchShown(ctx context.Context, c *cli.Context, opened *devices.Opened, o tuner.Options) (*tuner.Result, error) {
	if opened.Notice != "" {
		say(os.Stderr, "autotune: "+opened.Notice)
	}
	return searchWith(ctx, c, opened, o, progressOf(c, opened.Problem.String()))
}

// searchWith is searchShown with a progress of the caller's.
func searchWith(ctx context.Context, c *cli.Context, opened *devices.Opened, o tuner.Options, show progress) (*tuner.Result, error) {
	o.Observe = show.update
	if o.Protocol.Samples == 1 { // runs for what they answer, not for how fast
		o.Observe = func(p tuner.Progress) {
			p.Best = nil
			show.update(p)
		}
	}
	if c.Bool("verbose") {
		then, out := o.Evaluated, painted(c, os.Stderr)
		o.Evaluated = func(t trial.Trial) {
			// That nobody reads it is no reason to end.
			_ = writeTrial(out, t, opened.Device.Info().Kind.Properties())
			if then != nil {
				then(t)
			}
		}
	}
	result, err := tuner.Search(ctx, opened.Problem, opened.Device, o)
	show.done()
	var refused *operator.RequestError
	var reference *device.ReferenceError
	if result == nil && !errors.Is(err, tuner.ErrNoVariant) && !errors.As(err, &refused) && !errors.As(err, &reference) {
		err = withCode(exitDevice, err)
	}
	return result, err
}

// progressOf is the progress that the flags ask for. Beside a block of lines a
// variant there is no place for a live line.
func progressOf(c *cli.Context, title string) progress {
	if c.Bool("verbose") && !c.Bool("quiet") {
		say(os.Stderr, title)
		return &lines{out: os.Stderr}
	}
	return newProgress(os.Stderr, title, c.Bool("quiet"))
}
