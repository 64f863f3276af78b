package family

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner"
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

type timed struct {
	Shape      []int64
	Candidates []int
	Results    []result            // of the candidates, and then of the winner made for the shape
	Made       space.Configuration // that winner
	General    result              // of the operator's plain kernel
	problem    *operator.Problem
}

// result is how a variant did at a shape, over all rounds. Without a status it does not serve the shape.
type result struct{ trial.Outcome }

// add takes in a round. A variant that fails now has failed.
func (r *result) add(o trial.Outcome) {
	if r.Status == "" {
		r.Outcome = o
	} else {
		r.Join(o)
	}
}

func (r result) ms() float64 {
	if r.Status != trial.OK || r.Time.Median == 0 {
		return math.Inf(1)
	}
	return r.Time.Median
}

func (s *timed) made() *result { return &s.Results[len(s.Candidates)] }

// of is how a candidate did at the shape; its status is empty if it was not timed there.
func (s *timed) of(candidate int) result {
	if at := slices.Index(s.Candidates, candidate); at >= 0 {
		return s.Results[at]
	}
	return result{}
}

func (s *timed) ownBest() float64 {
	best := s.General.ms()
	for _, r := range s.Results {
		best = min(best, r.ms())
	}
	return best
}

// slowdownsOf are how many times the own best of each shape the candidates take.
func slowdownsOf(list []*timed, candidates []int) slowdowns {
	return lists.Of(list, func(s *timed) []float64 {
		best := s.ownBest()
		return lists.Of(candidates, func(c int) float64 { return s.of(c).ms() / best })
	})
}

type entered struct {
	*timed
	dynamic, fixed final.Subject    // the problem with dynamic dimensions, and without
	variants       []device.Variant // as Results has them
	err            error
}

// timeAll times candidates at shapes. While one shape is timed, the next ones are compiled. Shapes that were left out
// have no winner of their own.
func (b *bench) timeAll(ctx context.Context, shapes [][]int64, candidates []int) (list []*timed, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var entering sync.WaitGroup
	defer entering.Wait()
	defer cancel()
	ready, leftOut := make(chan entered, policy.aheadOf), slices.Clone(b.leftOut)
	entering.Go(func() {
		defer close(ready)
		for _, shape := range shapes {
			left := func(l LeftOut) bool { return slices.Equal(l.Shape, shape) }
			if _, known := b.own[operator.FormatShape(shape)]; !known && slices.ContainsFunc(leftOut, left) {
				continue
			}
			select {
			case ready <- b.enter(ctx, shape, candidates):
			case <-ctx.Done():
				return
			}
		}
	})
	for one := range ready {
		s, err := b.timeNext(ctx, one)
		if err != nil {
			return nil, err
		}
		if s != nil {
			list = append(list, s)
		}
	}
	return list, ctx.Err()
}

// timeNext times candidates at the next shape. Without a correct kernel or room for it the shape is left out, and the
// result is nil.
func (b *bench) timeNext(ctx context.Context, e entered) (*timed, error) {
	err := e.err
	if err == nil {
		err = b.time(ctx, e)
	}
	switch {
	case batch.Ends(ctx, err):
		return nil, err
	case err != nil: // a shape may be too large: its tensors are there twice, for either kind of kernels
		b.leaveOut(e.Shape, err)
		b.clock.step(timings, operator.FormatShape(e.Shape)+" could not be timed", false)
		return nil, nil
	}
	b.clock.step(timings, "timed "+operator.FormatShape(e.Shape), false)
	if math.IsInf(e.ownBest(), 1) {
		b.leftOut = append(b.leftOut, LeftOut{e.Shape, e.made().Reason()})
		return nil, nil
	}
	return e.timed, nil
}

// generalTemplate is what a document calls the general kernel.
const generalTemplate = "general"

func (b *bench) enter(ctx context.Context, shape []int64, candidates []int) (e entered) {
	own := b.own[operator.FormatShape(shape)]
	e.timed = &timed{Shape: shape, Results: make([]result, len(candidates)+1), Made: own, Candidates: candidates}
	if e.dynamic, e.err = b.subject(ctx, shape); e.err != nil {
		return e
	}
	p := e.dynamic.Problem
	e.problem, e.fixed = p, e.dynamic
	request := p.Record().Request()
	request.Free = nil
	if e.fixed.Problem, e.err = p.Operator.Bind(request, p.Limits); e.err != nil {
		return e
	}
	e.variants = make([]device.Variant, len(e.Results))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, e.dynamic.Device.Compiler().Workers()))
	compiled := func(i int, of final.Subject, c space.Configuration) {
		group.Go(func() (err error) {
			e.variants[i], e.Results[i].Outcome, err = of.Compile(ctx, of.Problem, c)
			return err
		})
	}
	group.Go(func() error {
		_, err := device.CompileReference(ctx, e.dynamic.Device, p, e.dynamic.Protocol.CompileTimeout)
		return err
	})
	for i, c := range candidates {
		if b.candidates[c].serves(p) {
			compiled(i, e.dynamic, b.candidates[c].Configuration)
		}
	}
	if own.Template != "" && own.Template != generalTemplate { // no search was made, or the device has timed it
		compiled(len(candidates), e.fixed, own)
	}
	e.err = group.Wait()
	return e
}

// time times a shape's variants in two rounds, the second without slow ones. The plain kernel was timed by the device
// when it was opened, once for either kind of kernels. A pack's general kernel is the same code, which takes its sizes
// when it runs.
func (b *bench) time(ctx context.Context, e entered) (err error) {
	subjects := []final.Subject{e.dynamic, e.fixed}
	if e.variants[len(e.Candidates)].Binary == nil {
		subjects = subjects[:1]
	}
	match, err := final.Meet(ctx, b.Search.Seed, subjects...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, match.Close()) }()
	for side := range subjects {
		// Another template or a file may say what is correct; then there is no plain kernel.
		if o, ms := b.plan.Operator, match.Ceilings(side).ReferenceMS; ms > 0 && o.Answers == nil && o.ReferenceTemplate == "" {
			o := trial.Outcome{Status: trial.OK}
			o.SetSamples([]float64{ms}, 1)
			e.General.add(o)
		}
	}
	for _, far := range []float64{policy.farBehind, 0} {
		var running []int
		var runners []final.Runner
		most := policy.nearFastest * e.dynamic.Protocol.DropRatio * e.ownBest()
		for i, v := range e.variants {
			if v.Binary != nil && (far > 0 || e.Results[i].ms() <= most) {
				one := final.Runner{Variant: v}
				if i == len(e.Candidates) { // the winner made for the shape
					one.Side = 1
				}
				running, runners = append(running, i), append(runners, one)
			}
		}
		outcomes, err := match.Round(ctx, runners, far)
		if err != nil {
			return err
		}
		for at, i := range running {
			e.Results[i].add(outcomes[at])
		}
	}
	return nil
}

// choose chooses candidates for entries, and puts those through the gates that no search has. A candidate that fails is
// out, and others are chosen.
func (b *bench) choose(ctx context.Context) ([]int, error) {
	for {
		b.dismiss(b.samples)
		usable := lists.Where(lists.Places(len(b.candidates)), func(i int) bool { return !b.candidates[i].out })
		if len(usable) == 0 {
			return nil, fmt.Errorf("%s: %w: every kernel that takes %v when it runs fails at a sample",
				b.plan, tuner.ErrNoVariant, b.plan.Request.Free)
		}
		entries := slowdownsOf(b.samples, usable).entries(b.MaxSlowdown)
		chosen := lists.Of(entries, func(at int) int { return usable[at] })
		if failed, err := b.gate(ctx, chosen); err != nil || !failed {
			return chosen, err
		}
	}
}

func (b *bench) dismiss(list []*timed) (failed int) {
	for _, s := range list {
		for at, i := range s.Candidates {
			c, r := &b.candidates[i], s.Results[at]
			if r.Status != trial.OK && r.Status != "" && !c.out {
				b.leaveOutKernel(c, fmt.Sprintf("at %s it ends as %s: %s", operator.FormatShape(s.Shape), r.Status, r.Reason()))
				failed++
			}
		}
	}
	return failed
}

func (b *bench) leaveOutKernel(c *candidate, why string) {
	c.out = true
	b.Notice(fmt.Sprintf("%s is left out: %s", c.Configuration, why))
}

// gate puts candidates through the gates that no search has, at the shapes where they were found.
func (b *bench) gate(ctx context.Context, chosen []int) (failed bool, err error) {
	left := lists.Where(chosen, func(i int) bool { return b.candidates[i].Gates == nil })
	subjects := make([]final.Subject, len(left))
	for at, i := range left {
		c := &b.candidates[i]
		if subjects[at], err = b.subject(ctx, c.Shape); err != nil {
			return false, err
		}
		final.Ahead(ctx, subjects[at], c.Configuration)
	}
	for at, i := range left {
		c := &b.candidates[i]
		var o trial.Outcome
		if c.Gates, o, err = subjects[at].Gates(ctx, c.Configuration, policy.gateTime); err != nil {
			return false, err
		}
		if o.Status != trial.OK {
			b.leaveOutKernel(c, o.Reason())
			failed = true
		}
	}
	return failed, nil
}
