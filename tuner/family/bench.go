package family

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner/batch"
	"autotune/tuner/final"
)

func (t *tuning) all() []int { return lists.Places(len(t.candidates)) }

// timed holds a shape and the outcomes of its variants over all rounds of timing.
type timed struct {
	Shape []int64
	made  space.Configuration // the winner of the search for this shape alone
	// outcomes contains an outcome for each candidate, for the kernel made for the shape, and for the operator's plain
	// kernel; an outcome without a status means that the kernel was not timed.
	outcomes []trial.Outcome
	runners  []final.Runner  // variants, in the order of outcomes
	subjects []final.Subject // the problem with dynamic dimensions, then with fixed ones
	err      error
}

// ms returns the median time of an outcome, or infinity if it has none.
func ms(o trial.Outcome) float64 {
	if o.Status != trial.OK || o.Time.Median == 0 {
		return math.Inf(1)
	}
	return o.Time.Median
}

func (s *timed) problem() *operator.Problem { return s.subjects[0].Problem }
func (s *timed) own() *trial.Outcome        { return &s.outcomes[len(s.outcomes)-2] }
func (s *timed) general() *trial.Outcome    { return &s.outcomes[len(s.outcomes)-1] }
func (s *timed) ownBest() float64           { return slices.Min(lists.Of(s.outcomes, ms)) }

// slowdownsOf returns, for each sample, the slowdowns of the kernels whose outcomes have the given indices.
func (t *tuning) slowdownsOf(places []int) slowdowns {
	return lists.Of(t.samples, func(s *timed) []float64 {
		return lists.Of(places, func(i int) float64 { return ms(s.outcomes[i]) / s.ownBest() })
	})
}

// timeAll times the candidates at each shape, and meanwhile compiles for the next shapes. timeAll leaves out a shape if
// no kernel is correct, or if the GPU's memory cannot hold the shape's tensors twice: for kernels with dynamic
// dimensions and for kernels with fixed ones. If the searches for a shape failed, the shape is timed only if a kernel
// made for the shape alone won a search.
func (t *tuning) timeAll(ctx context.Context, shapes [][]int64, candidates []int) (list []*timed, err error) {
	shapes = lists.Where(shapes, func(shape []int64) bool {
		return t.own[operator.FormatShape(shape)].Template != "" || !t.lacks(shape)
	})
	ctx, cancel := context.WithCancel(ctx)
	ready := make(chan *timed, policy.aheadOf)
	defer func() {
		cancel()
		for range ready { // wait for the last compilation
		}
	}()
	go func() {
		defer close(ready)
		for i := 0; i < len(shapes) && ctx.Err() == nil; i++ {
			ready <- t.compile(ctx, shapes[i], candidates)
		}
	}()
	for s := range ready {
		if s.err == nil {
			s.err = s.time(ctx, t.Search.Seed)
		}
		s.runners = nil
		if batch.Ends(ctx, s.err) {
			return nil, s.err
		}
		if s.err != nil {
			t.leaveOut(s.Shape, s.err)
			t.step(operator.FormatShape(s.Shape) + " could not be timed")
			continue
		}
		t.step("timed " + operator.FormatShape(s.Shape))
		if math.IsInf(s.ownBest(), 1) {
			t.leftOut = append(t.leftOut, LeftOut{s.Shape, s.own().Reason()})
		} else {
			list = append(list, s)
		}
	}
	return list, ctx.Err()
}

const generalTemplate = "general" // the general kernel's template name in documents

func (t *tuning) compile(ctx context.Context, shape []int64, candidates []int) *timed {
	n := len(t.candidates)
	s := &timed{Shape: shape, made: t.own[operator.FormatShape(shape)]}
	s.outcomes, s.runners = make([]trial.Outcome, n+2), make([]final.Runner, n+2)
	free, err := t.subject(ctx, shape)
	if s.err = err; err != nil {
		return s
	}
	fixed := free
	s.subjects = []final.Subject{free}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, free.Device.Compiler().Workers()))
	compiled := func(i int, of final.Subject, c space.Configuration) {
		group.Go(func() (err error) {
			s.runners[i].Variant, s.outcomes[i], err = of.Compile(ctx, c)
			return err
		})
	}
	group.Go(func() error {
		_, err := device.CompileReference(ctx, free.Device, free.Problem, free.Protocol.CompileTimeout)
		return err
	})
	for _, c := range candidates {
		if t.candidates[c].serves(free.Problem) {
			compiled(c, free, t.candidates[c].Configuration)
		}
	}
	if s.made.Template != "" && s.made.Template != generalTemplate { // unless no search ran, or the general kernel won
		if fixed.Problem, err = t.Operator.Bind(t.at(shape, false), free.Problem.Limits); err == nil {
			compiled(n, fixed, s.made)
		}
	}
	if s.err = errors.Join(err, group.Wait()); s.runners[n].Binary != nil {
		s.runners[n].Side, s.subjects = 1, append(s.subjects, fixed)
	}
	return s
}

// time measures all variants for one shape in two rounds; the second round leaves out slow variants. The plain kernel
// is not timed again: its times are those that the device measured when it opened the problem with dynamic and with
// fixed dimensions. The general kernel in a pack has the code of the plain kernel, but takes its sizes at run time.
func (s *timed) time(ctx context.Context, seed uint64) (err error) {
	match, err := final.Meet(ctx, seed, s.subjects...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, match.Close()) }()
	general, op := s.general(), s.problem().Operator
	for side := range s.subjects {
		// The operator has no plain kernel to time if another template or a file defines the correct answers.
		if reference := match.Ceilings(side).ReferenceMS; reference > 0 && op.Answers == nil && op.ReferenceTemplate == "" {
			general.Status = trial.OK
			general.SetSamples(append(general.SamplesMS, reference), 1)
		}
	}
	for _, far := range []float64{policy.farBehind, 0} {
		var running []int
		var runners []final.Runner
		most := policy.nearFastest * s.subjects[0].Protocol.DropRatio * s.ownBest()
		for i, r := range s.runners {
			if r.Binary != nil && (far > 0 || ms(s.outcomes[i]) <= most) {
				running, runners = append(running, i), append(runners, r)
			}
		}
		outcomes, err := match.Round(ctx, runners, far)
		if err != nil {
			return err
		}
		for at, i := range running {
			if o := &s.outcomes[i]; far == 0 {
				o.Join(outcomes[at])
			} else {
				*o = outcomes[at]
			}
		}
	}
	return nil
}

// choose returns the indices of the candidates that become entries, or nil if no candidate is left.
func (t *tuning) choose() []int {
	usable := lists.Where(t.all(), func(i int) bool { return !t.candidates[i].out })
	return lists.Of(t.slowdownsOf(usable).entries(t.MaxSlowdown), func(at int) int { return usable[at] })
}

// dismiss excludes all candidates that failed at one of the given shapes, and reports whether it excluded any.
func (t *tuning) dismiss(list []*timed) (failed bool) {
	for _, s := range list {
		for i := range t.candidates {
			if o := s.outcomes[i]; o.Status != trial.OK && o.Status != "" && !t.candidates[i].out {
				t.dismissOne(i, fmt.Sprintf("at %s it ends as %s: %s", operator.FormatShape(s.Shape), o.Status, o.Reason()))
				failed = true
			}
		}
	}
	return failed
}

func (t *tuning) dismissOne(i int, why string) {
	t.candidates[i].out = true
	t.Notice(fmt.Sprintf("%s is left out: %s", t.candidates[i].Configuration, why))
}

// gate puts the chosen candidates through the gates, at the shapes for which the candidates were compiled; searches for
// a family skip the gates.
func (t *tuning) gate(ctx context.Context, chosen []int) (failed bool, err error) {
	left := lists.Where(chosen, func(i int) bool { return t.candidates[i].Gates == nil })
	subjects := make([]final.Subject, len(left))
	for at, i := range left {
		if subjects[at], err = t.subject(ctx, t.candidates[i].Shape); err != nil {
			return false, err
		}
		final.Ahead(ctx, subjects[at], t.candidates[i].Configuration)
	}
	for at, i := range left {
		c := &t.candidates[i]
		var o trial.Outcome
		if c.Gates, o, err = subjects[at].Gates(ctx, c.Configuration, policy.gateTime); err != nil {
			return false, err
		}
		if o.Status != trial.OK {
			t.dismissOne(i, o.Reason())
			failed = true
		}
	}
	return failed, nil
}
