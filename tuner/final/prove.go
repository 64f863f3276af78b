package final

import (
	"context"
	"errors"

	"autotune/device"
	"autotune/device/trial"
	"autotune/space"
)

// Proof is the result of verifying and timing an earlier winner again.
type Proof struct {
	trial.Outcome                 // outcome of all its turns, or of its failure
	NowMS         float64         // median over all turns; 0: the device's times cannot be compared
	Noise         float64         // relative noise, from trial.Noise
	Ceilings      device.Ceilings // measured on the device during the proof
}

// Prove verifies a configuration, times it in turns with itself, and puts it through the gates. `recorded` is the
// number of turns in the configuration's earlier time.
func Prove(ctx context.Context, s Subject, c space.Configuration, recorded int) (p Proof, err error) {
	v, m, err := s.begin(ctx, c)
	if p.Outcome, err = refused(err); err != nil || p.Status != trial.OK {
		return p, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	p.Ceilings = m.Ceilings(0)
	if err := p.time(ctx, m, v, recorded); err != nil || p.Status != trial.OK {
		return p, err
	}
	_, o, err := m.Gate(ctx, v, policy.proofGates)
	if err == nil && o.Status != trial.OK {
		p.Fail(o.Status, o.Message)
	}
	return p, err
}

// time measures a variant in turns with itself, i.e. as if it were two variants. If the variant fails in one of the
// turns, the proof gets the outcome of that failure.
func (p *Proof) time(ctx context.Context, m *Match, v device.Variant, recorded int) error {
	both := []Runner{{Variant: v}, {Variant: v}}
	var medians [2][]float64
	for turn := range policy.turns {
		outcomes, err := m.Round(ctx, both, 0)
		if err != nil {
			return err
		}
		for side, o := range outcomes {
			if turn == 0 && side == 0 {
				p.Outcome = o
			} else {
				p.Join(o)
			}
			if p.Status != trial.OK {
				return nil
			}
			medians[side] = append(medians[side], o.Time.Median)
		}
		if !m.sides[0].Device.Info().Kind.Properties().Measures {
			return nil
		}
	}
	p.NowMS, p.Noise = trial.Noise(medians[0], medians[1], recorded)
	return nil
}
