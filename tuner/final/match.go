package final

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"autotune/device"
	"autotune/device/trial"
	"autotune/space"
)

// Match is a place where variants of one shape are timed side by side, whoever found them. Unlike Settle it times all
// of them, and names no winner. It has several problems if kernels of one shape are made in different ways: with free
// dimensions, and without.
type Match struct {
	sides  []side
	random *rand.Rand
}

type side struct {
	Subject
	place *place
}

// Runner is a variant that takes part in a match, of one of its problems.
type Runner struct {
	Side int
	device.Variant
}

// Meet opens the subjects' problems for a match. The caller closes it.
func Meet(ctx context.Context, seed uint64, subjects ...Subject) (*Match, error) {
	m := &Match{random: rand.New(rand.NewPCG(seed, 1))}
	for _, s := range subjects {
		c := Case{Subject: s, Started: time.Now()}
		place, err := c.takePlace(ctx)
		if err != nil {
			return nil, errors.Join(err, m.Close())
		}
		s.Ceilings = place.session.Ceilings()
		m.sides = append(m.sides, side{s, place})
	}
	return m, nil
}

// Ceilings are what the device measured when it opened one of the problems.
func (m *Match) Ceilings(side int) device.Ceilings { return m.sides[side].Ceilings }

// Close ends the match.
func (m *Match) Close() (err error) {
	for _, s := range m.sides {
		err = errors.Join(err, s.place.close())
	}
	return err
}

// Round verifies and times each variant once, in random order. The outcomes are in the order of the runners. Those that
// take clearly more than `far` times the fastest so far are given few samples; 0: all are given as many as they need.
func (m *Match) Round(ctx context.Context, runners []Runner, far float64) ([]trial.Outcome, error) {
	outcomes := make([]trial.Outcome, len(runners))
	best := 0.0
	for _, i := range m.random.Perm(len(runners)) {
		o, err := m.sides[runners[i].Side].place.evaluate(ctx, runners[i].Variant, far*best)
		if err != nil {
			return nil, err
		}
		outcomes[i] = trial.Trial{}.With(o).Outcome
		if o.Status == trial.OK && (best == 0 || o.Time.Median < best) {
			best = o.Time.Median
		}
	}
	return outcomes, nil
}

// Gate puts a variant of the first problem through the gates within a time limit. If it fails at one, the outcome says
// how; the gates are those that it passed.
func (m *Match) Gate(ctx context.Context, v device.Variant, limit time.Duration) (*Gates, trial.Outcome, error) {
	s := m.sides[0]
	g := &gatekeeper{
		Subject: s.Subject, place: s.place, variant: v, nearby: Ahead(ctx, s.Subject, v.Configuration), limit: limit,
	}
	return g.gates(ctx, GateWinner)
}

// Gates puts a configuration of the subject's problem through the gates within a time limit. If it fails at one, or
// does not compile, the outcome says how.
func (s Subject) Gates(ctx context.Context, c space.Configuration, limit time.Duration) (g *Gates, o trial.Outcome, err error) {
	v, m, err := s.begin(ctx, c)
	if o, err = refused(err); err != nil || o.Status != trial.OK {
		return nil, o, err
	}
	g, o, err = m.Gate(ctx, v, limit)
	return g, o, errors.Join(err, m.Close())
}

// begin compiles a configuration of the subject's problem and meets its device. The caller closes the match. What the
// compiler refuses is a *refusal.
func (s Subject) begin(ctx context.Context, c space.Configuration) (device.Variant, *Match, error) {
	v, o, err := s.Compile(ctx, c)
	if o.Status != "" {
		err = &refusal{o}
	}
	if err != nil {
		return v, nil, err
	}
	m, err := Meet(ctx, uint64(s.Protocol.Seed), s)
	return v, m, err
}
