package winners

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"autotune/tuner"
	"autotune/tuner/ledger"
	"autotune/tuner/operator"
	"autotune/tuner/store"
	"autotune/tuner/trial"
)

// Kept is a winner that the cache keeps.
type Kept struct {
	tuner.Record
	kept store.Winner
}

// List lists the winners kept of an operator's problems on all devices, newest
// first. Not all need be of the operator as it is today, nor of the same folder:
// Record.Winner and Record.ReferenceDigest tell what was measured.
func List(s *store.Store, operator string) ([]Kept, error) {
	kept, err := s.AllWinners(operator)
	if err != nil {
		return nil, err
	}
	var winners []Kept
	for _, k := range kept {
		w := Kept{kept: k}
		if err := json.Unmarshal(k.Result, &w.Record); err != nil {
			return nil, fmt.Errorf("the cache's winner of %s: %w", k.Problem, err)
		}
		if w.Winner == nil {
			return nil, fmt.Errorf("the cache's winner of %s has no trial", k.Problem)
		}
		// Records of earlier versions have neither.
		w.ReferenceDigest, w.Winner.KernelDigest = k.Provenance.ReferenceDigest, k.Provenance.KernelDigest
		winners = append(winners, w)
	}
	slices.SortStableFunc(winners, func(a, b Kept) int { return b.At.Compare(a.At) })
	return winners, nil
}

// Trials lists the trials that were made as the winner was: on the same device,
// with the same compiler, reference and protocol.
func (w Kept) Trials(s *store.Store) ([]trial.Trial, error) {
	known, err := s.Trials(w.kept.Problem, nil)
	if err != nil {
		return nil, err
	}
	var trials []trial.Trial
	for _, key := range ledger.InOrder(known) {
		provenance := w.kept.Provenance
		provenance.KernelDigest = known[key].KernelDigest
		if provenance.Key() == key {
			trials = append(trials, known[key])
		}
	}
	return trials, nil
}

// Current lists those of a problem's trials, remembered or recorded, whose
// kernels and launches are today what they were then. The problem must be bound with the
// limits of the trials' device.
func Current(ctx context.Context, p *operator.Problem, trials []trial.Trial) ([]trial.Trial, error) {
	sp, err := p.Whole().Space(ctx)
	if err != nil {
		return nil, err
	}
	var current []trial.Trial
	for _, t := range trials {
		id, ok := sp.Index(t.Configuration)
		if !ok {
			continue
		}
		t.Configuration = sp.At(id) // with today's order and types
		k, err := p.Kernel(t.Configuration)
		if err == nil && t.KernelDigest != "" && strings.HasPrefix(k.Digest(), t.KernelDigest) {
			tuner.SetMetrics(p, &t) // as they are today
			current = append(current, t)
		}
	}
	return current, nil
}
