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
func provenanceOf(p *operator.Problem, d device.Device, reference operator.Kernel, proto device.Protocol) store.Provenance {
	info := d.Info()
	return store.Provenance{
		ReferenceDigest: reference.Digest(), Arch: d.Arch(), Compiler: info.Compiler,
		Driver: info.Driver, Device: info.Name, Protocol: proto,
	}
}

// provenanceFor is a trial's provenance.
func (s *search) provenanceFor(kernelDigest string) store.Provenance {
	p := s.provenance
	p.KernelDigest = kernelDigest
	return p
}

// resume enters what the store remembers of this very problem, device, compiler
// and protocol.
func (s *search) resume() error {
	if s.Store == nil || s.Fresh {
		return nil
	}
	known, err := s.Store.Trials(s.id)
	if err != nil {
		return fmt.Errorf("resume from the cache: %w", err)
	}
	for _, key := range inOrder(known) {
		t := known[key]
		if s.provenanceFor(t.KernelDigest).Key() != key {
			continue // of another driver, compiler or protocol
		}
		if id, ok := s.indexOf(t); ok && !s.begun[id] {
			t.Configuration = s.space.At(id) // with today's order and types
			s.begun[id] = true
			s.resumed++
			s.strategy.Tell(id, s.enter(id, t))
		}
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
	if err := s.writer.Put(store.Entry{Provenance: s.provenanceFor(t.KernelDigest), Trial: t}); err != nil {
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

// crown keeps the winner and the record around it.
func (s *search) crown(r *Result) error {
	if s.Store == nil {
		return nil
	}
	record, err := json.Marshal(r.Record)
	if err != nil {
		return fmt.Errorf("keep the winner in the cache: %w", err)
	}
	w := r.Winner
	err = s.Store.PutWinner(s.id, store.Winner{
		Provenance: s.provenanceFor(w.KernelDigest), TimeMS: w.Time.Median, Result: record,
	})
	if err != nil {
		return fmt.Errorf("keep the winner in the cache: %w", err)
	}
	return nil
}

// recall finds what an earlier search of the same provenance measured beside
// its trials, so that one with nothing left to evaluate needs no device.
func (s *search) recall() bool {
	if s.Store == nil {
		return false
	}
	w, ok, err := s.Store.Winner(s.id)
	if err != nil || !ok {
		return false
	}
	base := w.Provenance
	base.KernelDigest = ""
	var record Record
	if base.Key() != s.provenance.Key() || json.Unmarshal(w.Result, &record) != nil {
		return false
	}
	s.ceilings = record.Ceilings
	s.ceilings.Baselines = s.elsewhere()
	return true
}

// Winners lists the winners kept of an operator's problems on all devices, newest
// first.
func Winners(s *store.Store, operator string) ([]Record, error) {
	kept, err := s.Winners(operator, "")
	if err != nil {
		return nil, err
	}
	var records []Record
	for _, w := range kept {
		var r Record
		if err := json.Unmarshal(w.Result, &r); err != nil {
			return nil, fmt.Errorf("the cache's winner of %s: %w", w.Problem, err)
		}
		records = append(records, r)
	}
	slices.SortStableFunc(records, func(a, b Record) int { return b.At.Compare(a.At) })
	return records, nil
}
