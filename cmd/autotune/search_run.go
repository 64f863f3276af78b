package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/urfave/cli/v2"

	"autotune/reports"
	"autotune/tuner"
	"autotune/tuner/batch"
	"autotune/tuner/device"
	"autotune/tuner/devices"
	"autotune/tuner/operator"
	"autotune/tuner/store"
	"autotune/tuner/trial"
)

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
	o.Found = func(r batch.Request, t *tuner.Result, best reports.BestConfig) error {
		return badInput(out.deliver(r, t, best))
	}
	o.Known = func(best reports.BestConfig) error {
		show.all.skip()
		if !c.Bool("quiet") {
			say(os.Stderr, best.Problem.Text+": searched before in the run "+c.String("run"))
		}
		return badInput(out.deliverKnown(best))
	}
	o.Failed = func(_ batch.Request, err error) { fmt.Fprintln(os.Stderr, "autotune: "+explain(err)) }
	return errors.Join(batch.Search(c.Context, opener, problems, o), out.finish())
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
		return nil, badInput(fmt.Errorf("--run %s: %w", name, err))
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
		result, err = searchWith(ctx, s.c, on, o, s.all.of(r.String()))
	} else {
		result, err = searchShown(ctx, s.c, on, o)
	}
	if !errors.Is(err, device.ErrGone) || !beside {
		s.all.finish(r.String())
	}
	return result, err
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
