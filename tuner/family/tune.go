package family

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/operator"
	"autotune/tuner"
	"autotune/tuner/batch"
	"autotune/tuner/bestconfig"
	"autotune/tuner/devices"
	"autotune/tuner/final"
	"autotune/tuner/store"
)

// Options are what tuning a family needs beside its plan. All functions may be nil.
type Options struct {
	Search      tuner.Options // of every search; Time is the most that one takes
	MaxSlowdown float64       // that is allowed at a sample against its own best
	Budget      time.Duration // of the whole family, kept as well as can be; 0: no limit
	Store       func() (*store.Store, error)
	Run         *batch.Run // remembers what was searched and timed
	Tool        string
	Notice      func(string)   // what a user may not expect
	Progress    func(Progress) // after each step
}

// Progress is where a family stands.
type Progress struct {
	Step  string // that was done last
	Done  int
	Of    int           // steps
	Known bool          // an earlier process had done it
	Left  time.Duration // until all is done; 0: not known
}

// tuning is one Tune.
type tuning struct {
	Options
	plan    Plan
	opener  opener
	started time.Time
	clock   clock

	found      map[string]bestconfig.Document // by shape and kind of kernels
	trials     map[string][]tried             // of samples, likewise
	leftOut    []LeftOut
	fault      error // why the first of them failed for no reason of its own
	candidates []candidate
	samples    []*timed
	heldOut    []*timed
}

// opener opens the device for one problem after another, as devices.Opener does.
type opener interface {
	Open(context.Context, *operator.Operator, operator.Request) (*devices.Opened, error)
}

// candidate is a kernel that takes the free dimensions when it runs, and may be an entry.
type candidate struct {
	Entry
	formulas operator.Formulas // with Entry.Where, and what it names
	out      bool              // it failed somewhere
}

// serves tells whether the candidate, as compiled for the shape that it was found at, is right
// for a problem.
func (c *candidate) serves(p *operator.Problem) bool {
	_, ok := c.formulas.At(p.Values)
	return ok && p.Admits(c.Configuration)
}

// Tune finds the kernels of a family and what chooses among them. A tune that ended early goes on
// where it was, with the same run and store. Errors are those of batch.Search, or a device's.
func Tune(ctx context.Context, opener *devices.Opener, p Plan, o Options) (*Family, error) {
	t := &tuning{Options: o, plan: p, opener: opener, started: time.Now(), found: map[string]bestconfig.Document{}, trials: map[string][]tried{}}
	if t.Notice == nil {
		t.Notice = func(string) {}
	}
	if t.Progress == nil {
		t.Progress = func(Progress) {}
	}
	if err := t.begin(ctx); err != nil {
		return nil, err
	}
	if err := t.search(ctx, opener); err != nil {
		return nil, err
	}
	return t.settle(ctx)
}

// settle makes the family of what the searches found.
func (t *tuning) settle(ctx context.Context) (*Family, error) {
	if err := t.timeSamples(ctx); err != nil {
		return nil, err
	}
	for {
		chosen, err := t.chooseEntries(ctx)
		if err != nil {
			return nil, err
		}
		sound, err := t.timeHeldOut(ctx, chosen)
		if err != nil {
			return nil, err
		}
		if sound {
			return t.finish(ctx, chosen)
		}
	}
}

// begin opens the device, and settles what there is to do. The family has the mode of its first sample: it has one
// mode, and PyTorch takes seconds to say which.
func (t *tuning) begin(ctx context.Context) error {
	samples, err := t.possible(ctx, t.plan.Samples)
	if err != nil {
		return err
	}
	if len(samples) < leastSamples {
		return t.noneLeft(": %d of %d samples are possible on the device, and a family has %d at least", len(samples), len(t.plan.Samples), leastSamples)
	}
	t.plan.Samples = samples
	if t.plan.HeldOut, err = t.possible(ctx, t.plan.HeldOut); err != nil {
		return err
	}
	t.clock = clock{started: t.started, budget: t.Budget}
	all := len(t.plan.Samples) + len(t.plan.HeldOut)
	t.clock.left = [kinds]int{searches: all, owns: len(t.plan.Samples), timings: all}
	return nil
}

// possible are the shapes that the device can have; the others are left out.
func (t *tuning) possible(ctx context.Context, shapes [][]int64) (kept [][]int64, err error) {
	for _, shape := range shapes {
		s, err := t.subject(ctx, shape)
		var refused *operator.RequestError
		switch {
		case errors.Is(err, device.ErrMemory) || errors.As(err, &refused):
			t.leaveOut(shape, err)
			continue
		case err != nil:
			return nil, err
		case operator.AutoMath(t.plan.Request.Math):
			record := s.Problem.Record()
			t.plan.Request.Math, t.plan.Request.MathBy = record.Math, record.MathBy
		}
		kept = append(kept, shape)
	}
	return kept, nil
}

// search searches the samples for kernels that take the free dimensions, and every shape for its own
// best. Samples' own come last: where a budget does not reach, those are what is left out.
func (t *tuning) search(ctx context.Context, opener *devices.Opener) error {
	var requests []batch.Request
	add := func(shape []int64, free bool) {
		requests = append(requests, batch.Request{Name: t.plan.Name, Operator: t.plan.Operator, Request: t.plan.at(shape, free)})
	}
	for i := range max(len(t.plan.Samples), len(t.plan.HeldOut)) {
		if i < len(t.plan.Samples) {
			add(t.plan.Samples[i], true)
		}
		if i < len(t.plan.HeldOut) {
			add(t.plan.HeldOut[i], false)
		}
	}
	for _, shape := range t.plan.Samples {
		add(shape, false)
	}
	err := batch.Search(ctx, opener, requests, batch.Options{
		Search: t.Search, AnyTarget: true, Store: t.Store, Run: t.Run, Tool: t.Tool,
		With: func(ctx context.Context, _ batch.Request, on *devices.Opened, o tuner.Options, _ bool) (*tuner.Result, error) {
			if !on.Device.Info().Kind.Properties().Compiles {
				return nil, fmt.Errorf("%s runs no kernels, and a family is timed; use a GPU or the emulator", on.Device.Info().Name)
			}
			shape := on.Problem.Record().Shape
			of := t.kindOf(shape, len(on.Problem.Free) > 0)
			if !t.clock.affords(of) {
				if !has(t.plan.Samples, shape) {
					t.leftOut = append(t.leftOut, LeftOut{shape, "the budget has no time for a search of it, which tells its own best"})
				}
				t.step(of, "no time to search "+operator.FormatShape(shape), true)
				return nil, nil
			}
			o.Time, o.Gating = t.clock.search(of, o.Time), final.GateNone // entries go through them
			return tuner.Search(ctx, on.Problem, on.Device, o)
		},
		Known: func(best bestconfig.Document) error {
			var all []tried
			if _, err := t.Run.Remembered(ctx, remembers(best), &all); err != nil {
				return err
			}
			t.take(best, all, true)
			return nil
		},
		Found: func(_ batch.Request, r *tuner.Result, best bestconfig.Document) error {
			if r.Stop == tuner.Interrupted || !best.Found() {
				return nil
			}
			all := triedIn(r)
			t.take(best, all, false)
			return t.Run.Remember(remembers(best), all)
		},
		Failed: func(r batch.Request, err error) {
			t.clock.did(t.kindOf(r.Shape, len(r.Free) > 0), false)
			t.leaveOut(r.Shape, err)
		},
	})
	var some *batch.NotAllError
	if !errors.As(err, &some) {
		return err
	}
	if some.Some {
		return nil // a shape's failure is no other's
	}
	return t.noneLeft(" at any shape")
}

// leaveOut leaves out a shape that failed, and remembers the first failure that is not about a shape or its kernels.
func (t *tuning) leaveOut(shape []int64, err error) {
	t.leftOut = append(t.leftOut, LeftOut{shape, err.Error()})
	var refused *operator.RequestError
	if !errors.Is(err, tuner.ErrNoVariant) && !errors.As(err, &refused) && !errors.Is(err, device.ErrMemory) {
		t.fault = cmp.Or(t.fault, err)
	}
}

// noneLeft is the error of a family that too few shapes are left of.
func (t *tuning) noneLeft(format string, args ...any) error {
	if t.fault != nil {
		return t.fault
	}
	reason := ""
	if len(t.leftOut) > 0 {
		reason = ": " + t.leftOut[0].Reason
	}
	return fmt.Errorf("%s: %w%s%s", t.plan, tuner.ErrNoVariant, fmt.Sprintf(format, args...), reason)
}

// take takes note of a search's winner, and of all that it tried.
func (t *tuning) take(best bestconfig.Document, all []tried, known bool) {
	at := key(best.Problem.Shape, len(best.Problem.Free) > 0)
	t.found[at] = best
	if has(t.plan.Samples, best.Problem.Shape) {
		t.trials[at] = all
	}
	what := "searched " + operator.FormatShape(best.Problem.Shape)
	if len(best.Problem.Free) > 0 {
		what += " with " + strings.Join(best.Problem.Free, ", ") + " free"
	}
	t.step(t.kindOf(best.Problem.Shape, len(best.Problem.Free) > 0), what, known)
}

// kindOf is which kind of step a search is.
func (t *tuning) kindOf(shape []int64, free bool) kind {
	if !free && has(t.plan.Samples, shape) {
		return owns
	}
	return searches
}

// step tells of a step that was done.
func (t *tuning) step(k kind, what string, known bool) {
	t.clock.did(k, known)
	t.Progress(Progress{Step: what, Done: t.clock.done, Of: t.clock.done + t.clock.steps(), Known: known, Left: t.clock.eta()})
}

// key names a search of the family.
func key(shape []int64, free bool) string { return fmt.Sprint(operator.FormatShape(shape), free) }

// timeSamples times the candidates at every sample.
func (t *tuning) timeSamples(ctx context.Context) error {
	if err := t.gather(ctx); err != nil {
		return err
	}
	t.clock.last = time.Now() // gathering is no step, and no step lasts longer for it
	if len(t.candidates) == 0 {
		return t.noneLeft(": no sample has a kernel that takes %v when it runs", t.plan.Request.Free)
	}
	all := lists.Places(len(t.candidates))
	list, err := t.timeAll(ctx, t.plan.Samples, all)
	if t.samples = list; err == nil && len(list) < leastSamples {
		err = t.noneLeft(" at %d of %d samples, and a family has %d at least", len(t.plan.Samples)-len(list), len(t.plan.Samples), leastSamples)
	}
	return err
}

// chooseEntries chooses candidates for entries, and puts those through the gates that no search
// has. One that fails is out, and others are chosen.
func (t *tuning) chooseEntries(ctx context.Context) ([]int, error) {
	for {
		t.dismiss(t.samples)
		usable := lists.Where(lists.Places(len(t.candidates)), func(i int) bool { return !t.candidates[i].out })
		if len(usable) == 0 {
			return nil, fmt.Errorf("%s: %w: every kernel that takes %v when it runs fails at a sample", t.plan, tuner.ErrNoVariant, t.plan.Request.Free)
		}
		slow := slowdownsOf(t.samples, usable)
		needed := slow.extend(slow.cover(slow.limits(t.MaxSlowdown)), mostEntries)
		chosen := lists.Of(needed, func(at int) int { return usable[at] })
		if failed, err := t.gate(ctx, chosen); err != nil || !failed {
			return chosen, err
		}
	}
}

// dismiss puts candidates out that failed anywhere.
func (t *tuning) dismiss(list []*timed) (sound bool) {
	sound = true
	for _, s := range list {
		for at, c := range s.Candidates {
			if lap := s.Laps[at]; lap.Status != trial.OK && lap.Status != "" && !t.candidates[c].out {
				t.candidates[c].out, sound = true, false
				t.Notice(fmt.Sprintf("%s is left out: at %s it ends as %s: %s", t.candidates[c].Configuration, operator.FormatShape(s.Shape), lap.Status, lap.Message))
			}
		}
	}
	return sound
}

// timeHeldOut times the entries at shapes that they were not chosen by; not sound: one failed.
func (t *tuning) timeHeldOut(ctx context.Context, chosen []int) (sound bool, err error) {
	if t.heldOut, err = t.timeAll(ctx, t.plan.HeldOut, chosen); err != nil {
		return false, err
	}
	return t.dismiss(t.heldOut), nil
}

// slowdownsOf are how many times the own best of each shape the candidates take.
func slowdownsOf(list []*timed, candidates []int) slowdowns {
	return lists.Of(list, func(s *timed) []float64 {
		best := s.ownBest()
		return lists.Of(candidates, func(c int) float64 { return s.ms(c) / best })
	})
}
