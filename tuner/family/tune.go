package family

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"autotune/internal/lists"
	"autotune/reports"
	"autotune/space/expr"
	"autotune/tuner"
	"autotune/tuner/batch"
	"autotune/tuner/device"
	"autotune/tuner/devices"
	"autotune/tuner/operator"
	"autotune/tuner/store"
	"autotune/tuner/trial"
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
	opener  *devices.Opener
	started time.Time
	clock   clock

	found      map[string]reports.BestConfig // by shape and kind of kernels
	leftOut    []LeftOut
	candidates []candidate
	samples    []*timed
	heldOut    []*timed
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
	_, ok := c.at(p)
	return ok
}

// at are the values of the candidate's formulas for a problem; not ok: it does not serve it.
func (c *candidate) at(p *operator.Problem) (values map[string]expr.Value, ok bool) {
	values, ok = c.formulas.At(p.Values)
	return values, ok && p.Admits(c.Configuration)
}

// same tells whether two candidates are one kernel.
func (c *candidate) same(o candidate) bool {
	return c.Configuration.Key() == o.Configuration.Key() && slices.Equal(c.Where, o.Where)
}

// Tune finds the kernels of a family and what chooses among them. A tune that ended early goes on
// where it was, with the same run and store. Errors are those of batch.Search, or a device's.
func Tune(ctx context.Context, opener *devices.Opener, p Plan, o Options) (*Family, error) {
	t := &tuning{Options: o, plan: p, opener: opener, started: time.Now(), found: map[string]reports.BestConfig{}}
	t.clock = clock{started: t.started, budget: o.Budget, left: map[kind]int{
		searches: len(p.Samples) + len(p.HeldOut), owns: len(p.Samples), timings: len(p.Samples) + len(p.HeldOut),
	}}
	if t.Notice == nil {
		t.Notice = func(string) {}
	}
	if t.Progress == nil {
		t.Progress = func(Progress) {}
	}
	if err := t.settleMath(ctx); err != nil {
		return nil, err
	}
	if err := t.search(ctx); err != nil {
		return nil, err
	}
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

// settleMath gives the family the mode of its first sample: it has one mode, and PyTorch takes
// seconds to say which.
func (t *tuning) settleMath(ctx context.Context) error {
	if !operator.AutoMath(t.plan.Request.Math) {
		return nil
	}
	s, err := t.subject(ctx, t.plan.Samples[0])
	if err == nil {
		record := s.Problem.Record()
		t.plan.Request.Math, t.plan.Request.MathBy = record.Math, record.MathBy
	}
	return err
}

// search searches the samples for kernels that take the free dimensions, and every shape for its own
// best. Samples' own come last: where a budget does not reach, those are what is left out.
func (t *tuning) search(ctx context.Context) error {
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
	var fault error
	err := batch.Search(ctx, t.opener, requests, batch.Options{
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
			o.Time = t.clock.search(o.Time)
			return tuner.Search(ctx, on.Problem, on.Device, o)
		},
		Known: func(best reports.BestConfig) error {
			t.take(best, true)
			return nil
		},
		Found: func(_ batch.Request, r *tuner.Result, best reports.BestConfig) error {
			if r.Stop != tuner.Interrupted && best.Found() {
				t.take(best, false)
			}
			return nil
		},
		Failed: func(r batch.Request, err error) {
			t.clock.did(t.kindOf(r.Shape, len(r.Free) > 0), false)
			t.leftOut = append(t.leftOut, LeftOut{r.Shape, err.Error()})
			var refused *operator.RequestError
			if !errors.Is(err, tuner.ErrNoVariant) && !errors.As(err, &refused) && !errors.Is(err, device.ErrMemory) {
				fault = cmp.Or(fault, err)
			}
		},
	})
	var some *batch.NotAllError
	if errors.As(err, &some) {
		err = fault
	}
	return err
}

// take takes note of a search's winner.
func (t *tuning) take(best reports.BestConfig, known bool) {
	t.found[key(best.Problem.Shape, len(best.Problem.Free) > 0)] = best
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

// timeSamples times the candidates on every sample.
func (t *tuning) timeSamples(ctx context.Context) error {
	if err := t.gather(ctx); err != nil {
		return err
	}
	if len(t.candidates) == 0 {
		reason := ""
		if len(t.leftOut) > 0 {
			reason = ": " + t.leftOut[0].Reason
		}
		return fmt.Errorf("%s: %w: no sample has a kernel that takes %v when it runs%s", t.plan, tuner.ErrNoVariant, t.plan.Request.Free, reason)
	}
	list, err := t.timeAll(ctx, t.plan.Samples, lists.Places(len(t.candidates)))
	if t.samples = list; err == nil && len(list) < leastSamples {
		err = fmt.Errorf("%s: %w at %d of %d samples, and a family has %d at least", t.plan, tuner.ErrNoVariant,
			len(t.plan.Samples)-len(list), len(t.plan.Samples), leastSamples)
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
		spots, err := t.between(usable)
		if err != nil {
			return nil, err
		}
		slow := slowdownsOf(t.samples, usable, wholly)
		needed := slow.reach(slow.extend(slow.cover(slow.limits(t.MaxSlowdown))), spots, t.groupsOf(usable))
		chosen := lists.Of(needed, func(at int) int { return usable[at] })
		failed := false
		for _, i := range chosen {
			if c := &t.candidates[i]; !c.Gates.Enough() {
				if err := t.gate(ctx, c); err != nil {
					return nil, err
				}
				failed = failed || c.out
			}
		}
		if !failed {
			return chosen, nil
		}
	}
}

// shapesBetween is how many shapes beside the samples tell what a choice leaves out.
const shapesBetween = 200

// between are other shapes than the samples, with the candidates that serve each.
func (t *tuning) between(candidates []int) (spots []spot, err error) {
	limits := t.samples[0].problem.Limits
	for _, shape := range t.plan.Shapes.others(betweenFrom, shapesBetween, t.plan.Samples, t.plan.allowed) {
		p, err := t.plan.Operator.Bind(t.plan.at(shape, true), limits)
		if err != nil {
			return nil, err
		}
		serves := func(at int) bool { return t.candidates[candidates[at]].serves(p) }
		one := spot{lists.Where(lists.Places(len(candidates)), serves), lists.Places(len(t.samples))}
		away := func(sample int) float64 { return nearestOf(shape, [][]int64{t.samples[sample].Shape}) }
		slices.SortStableFunc(one.nearest, func(a, b int) int { return cmp.Compare(away(a), away(b)) })
		spots = append(spots, one)
	}
	return spots, nil
}

// dismiss puts candidates out that failed anywhere.
func (t *tuning) dismiss(list []*timed) (sound bool) {
	sound = true
	for _, s := range list {
		for at, lap := range s.Laps {
			if c := s.Candidates[at]; lap.Status != trial.OK && lap.Status != "" && !t.candidates[c].out {
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

// slowdownsOf are how many times the own best of each shape the candidates take, by some rounds
// of their timings.
func slowdownsOf(list []*timed, candidates []int, rounds func(lap) float64) slowdowns {
	return lists.Of(list, func(s *timed) []float64 {
		best := s.ownBest(rounds)
		return lists.Of(candidates, func(c int) float64 { return s.ms(c, rounds) / best })
	})
}

// generalOf is how many times the own best of each shape the general kernel takes.
func generalOf(list []*timed, rounds func(lap) float64) []float64 {
	return lists.Of(list, func(s *timed) float64 { return s.General.ms(rounds) / s.ownBest(rounds) })
}
