package tuner

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"autotune/device/trial"
	"autotune/tuner/store"
)

// ledger keeps what a search finds in a store, and shares it with other searches of the problem, which may run side by
// side on one cache. Each claims a kernel before it evaluates it, so that no two evaluate the same one, and now and then
// reads what the others have found. A trial counts only if its provenance is that of this search: the same device,
// driver, compiler, reference and protocol. The zero value keeps nothing and grants every claim.
type ledger struct {
	store      *store.Store // nil: nothing is kept
	id         store.ProblemID
	provenance store.Provenance // of every trial, except its kernel
	shared     bool             // others' trials count
	writer     *store.Writer
	known      map[string]bool // keys of trials that the search has
	claimed    []string        // keys
	seen       os.FileInfo     // the store's file when it was last read
}

// newLedger is that of a search whose trials have this provenance, except for their kernels. A fresh search keeps its
// trials and ignores those of others.
func newLedger(s *store.Store, id store.ProblemID, p store.Provenance, fresh bool) *ledger {
	l := &ledger{store: s, id: id, provenance: p, known: map[string]bool{}}
	if s != nil {
		l.shared, l.writer = !fresh, s.Writer(id)
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

// claim asks whether a kernel, by its digest, is this search's to evaluate. It is not if another search evaluates it
// now.
func (l *ledger) claim(kernel string) (mine bool, err error) {
	if !l.shared {
		return true, nil
	}
	key := l.provenanceFor(kernel).Key()
	mine, err = l.store.Claim(key)
	if err != nil {
		return false, fmt.Errorf("claim a configuration in the cache: %w", err)
	}
	if mine {
		l.claimed = append(l.claimed, key)
	}
	return mine, nil
}

// knows says whether the search has the trial of a kernel, its own or another's.
func (l *ledger) knows(kernel string) bool { return l.known[l.provenanceFor(kernel).Key()] }

// news are the trials that count and were stored since the last call, in the order in which they were evaluated.
func (l *ledger) news() (news []trial.Trial, err error) {
	if !l.shared {
		return nil, nil
	}
	info, err := l.store.Stat()
	if err == nil && l.seen != nil && info.ModTime().Equal(l.seen.ModTime()) && info.Size() == l.seen.Size() {
		return nil, nil
	}
	l.seen = info
	kept, err := l.store.Entries(l.id, func(key string) bool {
		known := l.known[key]
		l.known[key] = true
		return !known
	})
	if err != nil {
		return nil, fmt.Errorf("read the cache: %w", err)
	}
	for _, e := range kept {
		if l.same(e.Provenance) {
			news = append(news, e.Trial)
		}
	}
	return news, nil
}

// keep hands a trial to the store.
func (l *ledger) keep(t trial.Trial) error {
	if l.writer == nil {
		return nil
	}
	p := l.provenanceFor(t.KernelDigest)
	l.known[p.Key()] = true
	if err := l.writer.Put(store.Entry{Provenance: p, Trial: t}); err != nil {
		return fmt.Errorf("keep a trial in the cache: %w", err)
	}
	return nil
}

// close writes what is not written yet and gives up all claims: what was evaluated is in the store by now, and the rest
// is for others.
func (l *ledger) close() (err error) {
	if l.writer != nil {
		if err = l.writer.Close(); err != nil {
			err = fmt.Errorf("keep the trials in the cache: %w", err)
		}
	}
	for _, key := range l.claimed {
		l.store.Release(key)
	}
	return err
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
