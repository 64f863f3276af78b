package family

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"golang.org/x/sync/errgroup"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner/batch"
	"autotune/tuner/final"
)

// bench times candidates at shapes.
type bench struct {
	*tuning
	own              map[string]space.Configuration // winners made for a shape, by shape
	candidates       []candidate
	samples, heldOut []*timed
}

func (b *bench) all() []int { return lists.Places(len(b.candidates)) }

// timed is a shape, and how variants did there over all rounds.
type timed struct {
	Shape    []int64
	problem  *operator.Problem
	made     space.Configuration // the winner made for the shape
	general  trial.Outcome       // of the operator's plain kernel
	outcomes []trial.Outcome     // of the candidates, and then of made; without a status: it was not timed here

	subjects []final.Subject  // the problem with dynamic dimensions, and without
	variants []device.Variant // as outcomes has them
	err      error
}

// ms is the time of a variant; infinite where it has none.
func ms(o trial.Outcome) float64 {
	if o.Status != trial.OK || o.Time.Median == 0 {
		return math.Inf(1)
	}
	return o.Time.Median
}

// own is how the winner made for the shape did.
func (s *timed) own() trial.Outcome { return s.outcomes[len(s.outcomes)-1] }

func (s *timed) ownBest() float64 {
	best := ms(s.general)
	for _, o := range s.outcomes {
		best = min(best, ms(o))
	}
	return best
}

// slowdownsOf are how many times the own best of each shape the candidates take.
func slowdownsOf(list []*timed, candidates []int) slowdowns {
	return lists.Of(list, func(s *timed) []float64 {
		best := s.ownBest()
		return lists.Of(candidates, func(c int) float64 { return ms(s.outcomes[c]) / best })
	})
}

// timeAll times candidates at shapes. While one shape is timed, the next ones are compiled. Shapes that were left out
// have no winner of their own.
func (b *bench) timeAll(ctx context.Context, shapes [][]int64, candidates []int) (list []*timed, err error) {
	left := lists.Of(b.leftOut, func(l LeftOut) []int64 { return l.Shape })
	shapes = lists.Where(shapes, func(shape []int64) bool {
		return b.own[operator.FormatShape(shape)].Template != "" || !has(left, shape)
	})
	ctx, cancel := context.WithCancel(ctx)
	var compiling sync.WaitGroup
	defer compiling.Wait()
	defer cancel()
	ready := make(chan *timed, policy.aheadOf)
	compiling.Go(func() {
		defer close(ready)
		for _, shape := range shapes {
			select {
			case ready <- b.compile(ctx, shape, candidates):
			case <-ctx.Done():
				return
			}
		}
	})
	for s := range ready {
		if ok, err := b.timeNext(ctx, s); err != nil {
			return nil, err
		} else if ok {
			list = append(list, s)
		}
	}
	return list, ctx.Err()
}

// timeNext times candidates at the next shape. Without a correct kernel or room for it the shape is left out, which is
// not ok. A shape may be too large: its tensors are there twice, for either kind of kernels.
func (b *bench) timeNext(ctx context.Context, s *timed) (ok bool, err error) {
	if err = s.err; err == nil {
		err = s.time(ctx, b.Search.Seed)
	}
	s.variants = nil
	switch {
	case batch.Ends(ctx, err):
		return false, err
	case err != nil:
		b.leaveOut(s.Shape, err)
		b.step(operator.FormatShape(s.Shape) + " could not be timed")
		return false, nil
	}
	b.step("timed " + operator.FormatShape(s.Shape))
	if math.IsInf(s.ownBest(), 1) {
		b.leftOut = append(b.leftOut, LeftOut{s.Shape, s.own().Reason()})
		return false, nil
	}
	return true, nil
}

// generalTemplate is what a document calls the general kernel.
const generalTemplate = "general"

func (b *bench) compile(ctx context.Context, shape []int64, candidates []int) *timed {
	n := len(b.candidates)
	s := &timed{Shape: shape, made: b.own[operator.FormatShape(shape)], outcomes: make([]trial.Outcome, n+1)}
	s.variants = make([]device.Variant, n+1)
	free, err := b.subject(ctx, shape)
	if err != nil {
		s.err = err
		return s
	}
	fixed := free
	s.problem, s.subjects = free.Problem, []final.Subject{free}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, free.Device.Compiler().Workers()))
	compiled := func(i int, of final.Subject, c space.Configuration) {
		group.Go(func() (err error) {
			s.variants[i], s.outcomes[i], err = of.Compile(ctx, c)
			return err
		})
	}
	group.Go(func() error {
		_, err := device.CompileReference(ctx, free.Device, free.Problem, free.Protocol.CompileTimeout)
		return err
	})
	for _, c := range candidates {
		if b.candidates[c].serves(free.Problem) {
			compiled(c, free, b.candidates[c].Configuration)
		}
	}
	if s.made.Template != "" && s.made.Template != generalTemplate { // no search was made, or the device has timed it
		request := free.Problem.Record().Request()
		request.Free = nil
		if fixed.Problem, err = b.Operator.Bind(request, free.Problem.Limits); err == nil {
			compiled(n, fixed, s.made)
		}
	}
	if s.err = errors.Join(err, group.Wait()); s.variants[n].Binary != nil {
		s.subjects = append(s.subjects, fixed)
	}
	return s
}

// time times a shape's variants in two rounds, the second without slow ones. The plain kernel was timed by the device
// when it was opened, once for either kind of kernels. A pack's general kernel is the same code, which takes its sizes
// when it runs.
func (s *timed) time(ctx context.Context, seed uint64) (err error) {
	match, err := final.Meet(ctx, seed, s.subjects...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, match.Close()) }()
	for side := range s.subjects {
		// Another template or a file may say what is correct; then there is no plain kernel.
		op := s.problem.Operator
		if reference := match.Ceilings(side).ReferenceMS; reference > 0 && op.Answers == nil && op.ReferenceTemplate == "" {
			o := trial.Outcome{Status: trial.OK}
			o.SetSamples([]float64{reference}, 1)
			join(&s.general, o)
		}
	}
	for _, far := range []float64{policy.farBehind, 0} {
		var running []int
		var runners []final.Runner
		most := policy.nearFastest * s.subjects[0].Protocol.DropRatio * s.ownBest()
		for i, v := range s.variants {
			if v.Binary == nil || far == 0 && ms(s.outcomes[i]) > most {
				continue
			}
			side := 0
			if i == len(s.variants)-1 { // made for the shape
				side = 1
			}
			running, runners = append(running, i), append(runners, final.Runner{Side: side, Variant: v})
		}
		outcomes, err := match.Round(ctx, runners, far)
		if err != nil {
			return err
		}
		for at, i := range running {
			join(&s.outcomes[i], outcomes[at])
		}
	}
	return nil
}

// join takes in what a variant did in a round. One that fails now has failed.
func join(to *trial.Outcome, o trial.Outcome) {
	if to.Status == "" {
		*to = o
	} else {
		to.Join(o)
	}
}

// choose chooses candidates for entries; nil: none is left.
func (b *bench) choose() []int {
	usable := lists.Where(b.all(), func(i int) bool { return !b.candidates[i].out })
	if len(usable) == 0 {
		return nil
	}
	entries := slowdownsOf(b.samples, usable).entries(b.MaxSlowdown)
	return lists.Of(entries, func(at int) int { return usable[at] })
}

// dismiss leaves out the candidates that failed at a shape.
func (b *bench) dismiss(list []*timed) (failed bool) {
	for _, s := range list {
		for i := range b.candidates {
			o := s.outcomes[i]
			if o.Status != trial.OK && o.Status != "" && !b.candidates[i].out {
				b.leaveOutKernel(i, fmt.Sprintf("at %s it ends as %s: %s", operator.FormatShape(s.Shape), o.Status, o.Reason()))
				failed = true
			}
		}
	}
	return failed
}

func (b *bench) leaveOutKernel(i int, why string) {
	b.candidates[i].out = true
	b.Notice(fmt.Sprintf("%s is left out: %s", b.candidates[i].Configuration, why))
}

// gate puts candidates through the gates that no search has, at the shapes where they were found.
func (b *bench) gate(ctx context.Context, chosen []int) (failed bool, err error) {
	left := lists.Where(chosen, func(i int) bool { return b.candidates[i].Gates == nil })
	subjects := make([]final.Subject, len(left))
	for at, i := range left {
		if subjects[at], err = b.subject(ctx, b.candidates[i].Shape); err != nil {
			return false, err
		}
		final.Ahead(ctx, subjects[at], b.candidates[i].Configuration)
	}
	for at, i := range left {
		c := &b.candidates[i]
		var o trial.Outcome
		if c.Gates, o, err = subjects[at].Gates(ctx, c.Configuration, policy.gateTime); err != nil {
			return false, err
		}
		if o.Status != trial.OK {
			b.leaveOutKernel(i, o.Reason())
			failed = true
		}
	}
	return failed, nil
}
