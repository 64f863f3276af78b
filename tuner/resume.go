package tuner

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"autotune/tuner/device"
	"autotune/tuner/operator"
	"autotune/tuner/store"
	"autotune/tuner/trial"
)

// provenanceOf is all that a trial depends on, but for its kernel.
func provenanceOf(p *operator.Problem, d device.Device, reference string, proto device.Protocol) store.Provenance {
	info := d.Info()
	return store.Provenance{
		ReferenceDigest: reference, Arch: d.Arch(), Compiler: info.Compiler,
		Driver: info.Driver, Device: info.Name, Protocol: proto,
	}
}

// provenanceFor is a trial's provenance.
func (s *search) provenanceFor(kernelDigest string) store.Provenance {
	p := s.provenance
	p.KernelDigest = kernelDigest
	return p
}

// resume enters what the store remembers.
func (s *search) resume() error {
	if !s.shares() {
		return nil
	}
	if err := s.catchUp(); err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	return nil
}

// inOrder lists the keys of remembered trials in the order in which the trials
// were evaluated, so that a resumed search is as repeatable as any other.
func inOrder(known map[string]trial.Trial) []string {
	return slices.SortedFunc(maps.Keys(known), func(a, b string) int {
		return cmp.Or(known[a].At.Compare(known[b].At), cmp.Compare(a, b))
	})
}

// indexOf finds a remembered trial's configuration in today's space, provided
// that its kernel is still what it was.
func (s *search) indexOf(t trial.Trial) (int64, bool) {
	id, ok := s.space.Index(t.Configuration)
	if !ok {
		return 0, false
	}
	k, err := s.problem.Kernel(s.space.At(id))
	return id, err == nil && k.Digest() == t.KernelDigest
}

// openWriter prepares the store for the trials to come.
func (s *search) openWriter() {
	if s.Store != nil {
		s.writer = s.Store.Writer(s.id)
	}
}

// keep hands a trial to the store.
func (s *search) keep(t trial.Trial) error {
	if s.writer == nil {
		return nil
	}
	p := s.provenanceFor(t.KernelDigest)
	s.known[p.Key()] = true
	if err := s.writer.Put(store.Entry{Provenance: p, Trial: t}); err != nil {
		return fmt.Errorf("keep a trial in the cache: %w", err)
	}
	return nil
}

func (s *search) closeWriter() error {
	if s.writer == nil {
		return nil
	}
	if err := s.writer.Close(); err != nil {
		return fmt.Errorf("keep the trials in the cache: %w", err)
	}
	return nil
}

// crown keeps the winner and the record around it. That of a part of the space
// does not take the place of a faster one.
func (s *search) crown(r *Result) error {
	if s.Store == nil {
		return nil
	}
	if s.problem.Restricted() {
		kept, err := s.kept()
		if err != nil {
			return fmt.Errorf("compare with the cache's winner: %w", err)
		}
		if stands, _ := s.Objective.standing(s.problem, *r.Winner); 0 < kept && kept < stands.Median {
			text := fmt.Sprintf("the cache keeps the winner that it has, which is faster: %.4g ms", kept)
			if s.Objective.Name != "" {
				text = "the cache keeps the winner that it has, which is better: " + s.Objective.String()
			}
			r.Warnings = append(r.Warnings, text)
			return nil
		}
	}
	record, err := json.Marshal(r.Record)
	if err != nil {
		return fmt.Errorf("keep the winner in the cache: %w", err)
	}
	w := r.Winner
	err = s.Store.PutWinner(s.id, store.Winner{
		Provenance: s.provenanceFor(w.KernelDigest), Sources: s.problem.Operator.SourceDigest(), TimeMS: w.Time.Median, Result: record,
	})
	if err != nil {
		return fmt.Errorf("keep the winner in the cache: %w", err)
	}
	return nil
}

// kept is how the winner stands that the store has, 0 if there is none, or if
// it is of another driver, compiler, protocol or kernel than this search's would be.
func (s *search) kept() (float64, error) {
	w, r, ok, err := s.remembered()
	if err != nil || !ok || r.Winner == nil {
		return 0, err
	}
	k, err := s.problem.Kernel(r.Winner.Configuration)
	if err != nil || k.Digest() != r.Winner.KernelDigest {
		return 0, nil // edited since
	}
	if s.Objective.Name == "" {
		return w.TimeMS, nil
	}
	stands, _ := s.Objective.standing(s.problem, *r.Winner)
	return stands.Median, nil
}

// remembered is the winner of an earlier search of the same provenance, with its
// record.
func (s *search) remembered() (w store.Winner, record Record, ok bool, err error) {
	if s.Store == nil {
		return w, record, false, nil
	}
	if w, ok, err = s.Store.Winner(s.id); err != nil || !ok {
		return w, record, false, err
	}
	same := w.Provenance.Key() == s.provenanceFor(w.Provenance.KernelDigest).Key()
	return w, record, same && json.Unmarshal(w.Result, &record) == nil, nil
}

// recall finds what an earlier search of the same provenance measured beside
// its trials, so that one with nothing left to evaluate needs no device.
func (s *search) recall() bool {
	if s.Recheck {
		return false
	}
	_, record, ok, err := s.remembered()
	if err != nil || !ok {
		return false
	}
	winner, _ := s.Decide()
	if s.can.Compiles && (record.Gates == nil || winner == nil || record.Winner == nil || record.Winner.KernelDigest != winner.KernelDigest) {
		return false // this winner has not been through the gates
	}
	s.ceilings, s.Gates = record.Ceilings, record.Gates
	s.ceilings.Baselines = s.elsewhere()
	return true
}
