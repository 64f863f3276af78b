package tuner

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"autotune/device/trial"
	"autotune/tuner/store"
)

// ledger keeps what a search finds in a store, and knows what earlier searches of the problem left there. A trial counts
// only if its provenance is that of this search: the same device, driver, compiler, reference and protocol. The zero
// value keeps nothing.
type ledger struct {
	store      *store.Store // nil: nothing is kept
	id         store.ProblemID
	provenance store.Provenance // of every trial, except its kernel
	resumes    bool             // earlier trials count
	writer     *store.Writer
}

// newLedger is that of a search whose trials have this provenance, except for their kernels. A fresh search keeps its
// trials and ignores those of others.
func newLedger(s *store.Store, id store.ProblemID, p store.Provenance, fresh bool) *ledger {
	l := &ledger{store: s, id: id, provenance: p}
	if s != nil {
		l.resumes, l.writer = !fresh, s.Writer(id)
	}
	return l
}

func (l *ledger) provenanceFor(kernel string) store.Provenance {
	p := l.provenance
	p.KernelDigest = kernel
	return p
}

// same says whether something was measured as this search measures.
func (l *ledger) same(p store.Provenance) bool { return p == l.provenanceFor(p.KernelDigest) }

// difference says in what the way something was measured differs from this search's.
func (l *ledger) difference(p store.Provenance) string {
	switch own := l.provenance; {
	case p.ReferenceDigest != own.ReferenceDigest:
		return "with the operator as it was before"
	case p.Driver != own.Driver:
		return "with driver " + cmp.Or(p.Driver, "unknown")
	case p.Compiler != own.Compiler || p.Arch != own.Arch:
		return strings.TrimSpace("with compiler " + cmp.Or(p.Compiler, "unknown") + " " + p.Arch)
	}
	return "by another protocol"
}

// trials are those that count, in the order in which they were evaluated.
func (l *ledger) trials() (all []trial.Trial, err error) {
	if !l.resumes {
		return nil, nil
	}
	kept, err := l.store.Entries(l.id)
	if err != nil {
		return nil, fmt.Errorf("read the cache: %w", err)
	}
	for _, e := range kept {
		if l.same(e.Provenance) {
			all = append(all, e.Trial)
		}
	}
	return all, nil
}

// keep hands a trial to the store.
func (l *ledger) keep(t trial.Trial) error {
	if l.writer == nil {
		return nil
	}
	if err := l.writer.Put(store.Entry{Provenance: l.provenanceFor(t.KernelDigest), Trial: t}); err != nil {
		return fmt.Errorf("keep a trial in the cache: %w", err)
	}
	return nil
}

// close writes what is not written yet.
func (l *ledger) close() error {
	if l.writer == nil {
		return nil
	}
	if err := l.writer.Close(); err != nil {
		return fmt.Errorf("keep the trials in the cache: %w", err)
	}
	return nil
}

// winner is the record that an earlier search of the same provenance kept beside its winner; nil: there is none.
func (l *ledger) winner() (*Record, error) {
	if l.store == nil {
		return nil, nil
	}
	w, found, err := l.store.Winner(l.id)
	var r Record
	if err != nil || !found || !l.same(w.Provenance) || json.Unmarshal(w.Result, &r) != nil || r.Winner == nil {
		return nil, err
	}
	return &r, nil
}

// crown keeps a winner and the record around it.
func (l *ledger) crown(r Record) error {
	if l.store == nil {
		return nil
	}
	text, err := json.Marshal(r)
	if err == nil {
		err = l.store.PutWinner(l.id, store.Winner{
			Provenance: l.provenanceFor(r.Winner.KernelDigest), TimeMS: r.Winner.Time.Median, Result: text,
		})
	}
	if err != nil {
		return fmt.Errorf("keep the winner in the cache: %w", err)
	}
	return nil
}
