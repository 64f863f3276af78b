package tuner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"autotune/device"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner/final"
	"autotune/tuner/store"
	"autotune/tuner/strategy"
)

// newSearch prepares everything that a search needs before its goroutines start: the space, remembered trials, the
// first configurations and the strategy.
func newSearch(ctx context.Context, p *operator.Problem, d device.Device, o Options) (*search, error) {
	part, err := p.Part(o.Only)
	if err != nil {
		return nil, err
	}
	sp, whole, err := spaces(ctx, part)
	if err != nil {
		return nil, err
	}
	reference, err := p.ReferenceDigest()
	if err != nil {
		return nil, fmt.Errorf("prepare the reference of %s: %w", p, err)
	}
	info := d.Info()
	s := &search{
		Options: o, can: info.Kind.Properties(), space: sp,
		subject: &final.Subject{Problem: p, Device: d, Protocol: o.Protocol, Launches: o.Launches},
		looking: looking{space: sp, target: o.Target, seed: o.Seed},
		closing: closing{held: map[int64]device.Variant{}, near: map[int64]*final.Nearby{}},
	}
	s.view = view{options: &s.Options, out: &s.out, started: time.Now()}
	if s.can.Compiles {
		s.looking.began = s.view.started
	}
	s.out = Record{
		Problem: p.Record(), Device: info, Protocol: o.Protocol, Valid: whole.Len(),
		Extent:          Extent{Part: o.Only.String()},
		ReferenceDigest: reference, Warnings: append(part.Warnings(), foreign(d, whole)...),
	}
	s.stages = &stages{
		subject: s.subject, space: sp, can: s.can, begun: map[int64]bool{},
	}
	s.stages.pool, _ = d.(device.Pool)
	id := store.ProblemID{
		Problem: p.String(), Device: info.Name, Kind: info.Kind, Conditions: o.Protocol.Conditions,
	}
	book := newLedger(o.Store, id, store.Provenance{
		ReferenceDigest: reference, Arch: d.Arch(), Compiler: info.Compiler, Driver: info.Driver, Device: info.Name,
		Protocol: o.Protocol,
	}, o.Fresh)
	if err := s.chart(part.Defaults(ctx), book); err != nil {
		return nil, err
	}
	if s.course.strategy, err = s.chooseStrategy(); err != nil {
		return nil, err
	}
	if err := s.course.resume(); err != nil {
		return nil, fmt.Errorf("resume: %w", err)
	}
	return s, nil
}

// spaces returns the space to search, which a restriction may limit to a part, and the whole space of the problem.
func spaces(ctx context.Context, part *operator.Part) (sp, whole *space.Space, err error) {
	p := part.Problem
	if sp, err = part.Space(ctx); err == nil && !part.Restriction.IsZero() {
		whole, err = p.Space(ctx)
	} else {
		whole = sp
	}
	var refused *operator.RequestError
	switch {
	case errors.As(err, &refused):
		return nil, nil, err // the error names the problem
	case err != nil:
		return nil, nil, fmt.Errorf("build the space of %s: %w", p, err)
	case sp.Len() == 0:
		return nil, nil, fmt.Errorf("%s: %w: no configuration satisfies the constraints on this device", p, ErrNoVariant)
	}
	return sp, whole, nil
}

// chart makes the course, the part of a search that decides which configuration is tried next. Before the strategy's
// proposals, a search tries configurations with the lowest estimates, untuned defaults and winners of similar problems.
func (s *search) chart(defaults []space.Configuration, book *ledger) error {
	var start []int64
	if book.resumes {
		records, warnings, err := similar(book)
		if err != nil {
			return err
		}
		start, s.out.StartedFrom = nearestWinners(records, s.out, s.space)
		s.out.Warnings = append(s.out.Warnings, warnings...)
	}
	start = append(start, indices(s.space, s.First)...)
	untuned := indices(s.space, defaults)
	if s.can.Compiles && s.can.Caveat == "" && !s.Recheck { // estimates are valid for a GPU only
		var err error
		if s.looking.expected, err = expectedOf(s.subject.Problem, s.space, s.Seed); err != nil {
			return err
		}
	}
	baseline := int64(-1)
	if len(untuned) > 0 {
		baseline = untuned[0]
	}
	s.field = final.NewField(baseline, defaults)
	s.course = &course{
		kernel: s.subject.Problem.Kernel, space: s.space, field: s.field, ledger: book,
		first:   afterLikely(s.looking.expected.Likely(s.space, policy.likely), untuned, start, s.looking.expected.Expects),
		recheck: s.Recheck, begun: map[int64]int{}, conducts: map[int]*conduct{},
		warn: func(text string) { s.out.warn(text) },
	}
	s.view.course = s.course
	return nil
}

// chooseStrategy makes the strategy that the options name. A replay tries the recorded configurations in their order by
// default, since the recorded search found its best configuration in that order.
func (s *search) chooseStrategy() (strategy.Strategy, error) {
	s.out.Strategy = s.Strategy
	if r, ok := s.subject.Device.(device.Recorded); ok && s.Strategy == strategy.Default {
		walk := &recorded{indices(s.space, r.Configurations())}
		s.out.Strategy = recordedOrder
		if s.Budget == 0 || s.Budget > len(walk.left) {
			s.Budget = len(walk.left)
		}
		return walk, nil
	}
	return strategy.New(s.Strategy, s.space, strategy.Options{Seed: s.Seed, Expected: s.looking.expected})
}
