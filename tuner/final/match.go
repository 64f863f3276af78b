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

// Match times several variants for one shape in turns. Unlike Settle, a Match times all variants and names no winner. A
// Match has several problems if kernels for one shape are made in different ways: with free dimensions and with fixed
// dimensions.
type Match struct {
	sides  []side
	random *rand.Rand
}

type side struct {
	Subject
	place *place
}

// Runner is a variant in a match; Side is the index of its problem.
type Runner struct {
	Side int
	device.Variant
}

// Meet opens the subjects' problems for a match, which the caller must close.
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

// Ceilings returns what the device measured when it opened the problem with index `side`.
func (m *Match) Ceilings(side int) device.Ceilings { return m.sides[side].Ceilings }

// Close ends the match.
func (m *Match) Close() (err error) {
	for _, s := range m.sides {
		err = errors.Join(err, s.place.close())
	}
	return err
}

// Round verifies and times each variant once, in random order, and returns outcomes in the order of the runners. A
// variant that is clearly slower than `far` times the fastest variant so far gets few samples; if `far` is 0, all
// variants get enough samples.
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

// Gate puts a variant of the first problem through the gates within a time limit, and returns the gates that it passed.
// If the variant fails at a gate, the outcome that Gate returns says how.
func (m *Match) Gate(ctx context.Context, v device.Variant, limit time.Duration) (*Gates, trial.Outcome, error) {
	s := m.sides[0]
	g := &gatekeeper{
		Subject: s.Subject, place: s.place, variant: v, nearby: Ahead(ctx, s.Subject, v.Configuration), limit: limit,
	}
	return g.gates(ctx, GateWinner)
}

// The method Gates compiles a configuration of the subject's problem and puts it through all gates within a time limit.
// If the configuration fails at a gate or does not compile, the outcome that Gates returns says how.
func (s Subject) Gates(ctx context.Context, c space.Configuration, limit time.Duration) (g *Gates, o trial.Outcome, err error) {
	v, m, err := s.begin(ctx, c)
	if o, err = refused(err); err != nil || o.Status != trial.OK {
		return nil, o, err
	}
	g, o, err = m.Gate(ctx, v, limit)
	return g, o, errors.Join(err, m.Close())
}

// begin compiles a configuration and opens a match for it, which the caller must close. If the compiler refuses the
// configuration, begin returns an error of type *refusal.
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
