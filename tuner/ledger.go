package tuner

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"autotune/device/trial"
	"autotune/operator"
	"autotune/tuner/store"
)

// ledger stores what a search finds, and reads what earlier searches of the problem stored. An earlier trial counts
// only if it has the provenance of this search: the same device, driver, compiler, reference and protocol. A ledger
// with the zero value stores nothing.
type ledger struct {
	store      *store.Store // nil: nothing is stored
	id         store.ProblemID
	provenance store.Provenance // provenance of all trials, without the kernel
	resumes    bool             // whether earlier trials count
	writer     *store.Writer
}

// newLedger returns the ledger of a search; p is the provenance that all trials of the search share, except for the
// digests of their kernels. A fresh search stores its trials, but ignores those of earlier searches.
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

// same reports whether a trial has the provenance of this search, apart from the digests of its kernel.
func (l *ledger) same(p store.Provenance) bool { return p == l.provenanceFor(p.KernelDigest) }

// difference describes how a provenance differs from that of this search.
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

// trials returns the earlier trials that this search may take over, in the order in which they were evaluated.
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

func (l *ledger) keep(t trial.Trial) error {
	if l.writer == nil {
		return nil
	}
	return kept("a trial", l.writer.Put(store.Entry{Provenance: l.provenanceFor(t.KernelDigest), Trial: t}))
}

func (l *ledger) close() error {
	if l.writer == nil {
		return nil
	}
	return kept("the trials", l.writer.Close())
}

// winner returns the record of an earlier search's winner with the same provenance, or nil if there is none.
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

// faster returns the time of the stored winner if the stored winner is faster than the given winner, otherwise 0.
// faster also returns 0 if the stored winner has another provenance, or if its kernel has changed since.
func (l *ledger) faster(p *operator.Problem, winner trial.Trial) (ms float64, err error) {
	record, err := l.winner()
	if err != nil || record == nil || record.Winner.Time.Median >= winner.Time.Median {
		return 0, err
	}
	k, err := p.Kernel(record.Winner.Configuration)
	if err != nil || k.Digest() != record.Winner.KernelDigest {
		return 0, nil // the kernel was edited
	}
	return record.Winner.Time.Median, nil
}

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
	return kept("the winner", err)
}

func kept(what string, err error) error {
	if err != nil {
		return fmt.Errorf("keep %s in the cache: %w", what, err)
	}
	return nil
}
