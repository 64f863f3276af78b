// Package ledger keeps what a search finds in a store, and shares it with other searches of the same problem.
//
// Searches of one problem may run side by side on one cache, in one process or in several. Each claims a kernel before
// it evaluates it, so that no two evaluate the same one. Now and then it reads what the others have found. A trial
// counts only if its provenance is that of this search: the same device, driver, compiler, reference and protocol.
package ledger

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"autotune/device/trial"
	"autotune/tuner/store"
)

// Ledger is one search's side of a store. The zero value keeps nothing and grants every claim. One goroutine uses it.
type Ledger struct {
	id         store.ProblemID
	provenance store.Provenance // of every trial, except its kernel
	keyOf      func(kernel string) string
	store      *store.Store // nil: nothing is kept
	shared     bool         // others' trials count
	writer     *store.Writer
	known      map[string]bool // keys of trials that the search has
	claimed    []string        // keys
	seen       os.FileInfo     // the store's file when it was last read
}

// New is the ledger of a search whose trials have this provenance, except for their kernels. A nil store keeps nothing.
// A fresh search keeps its trials and ignores those of others.
func New(s *store.Store, id store.ProblemID, p store.Provenance, fresh bool) *Ledger {
	l := &Ledger{id: id, provenance: p, keyOf: p.Keys(), known: map[string]bool{}}
	if s != nil {
		l.store, l.shared, l.writer = s, !fresh, s.Writer(id)
	}
	return l
}

func (l *Ledger) provenanceFor(kernel string) store.Provenance {
	p := l.provenance
	p.KernelDigest = kernel
	return p
}

// Same tells whether something was measured as this search measures.
func (l *Ledger) Same(p store.Provenance) bool {
	return p.Key() == l.provenanceFor(p.KernelDigest).Key()
}

// Difference says in what the way something was measured differs from this search's.
func (l *Ledger) Difference(p store.Provenance) string {
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

func (l *Ledger) Shared() bool { return l.shared }

// Claim asks whether a kernel, by its digest, is this search's to evaluate. It is not if another search evaluates it
// now.
func (l *Ledger) Claim(kernel string) (mine bool, err error) {
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

// Knows tells whether the search has the trial of a kernel, its own or another's.
func (l *Ledger) Knows(kernel string) bool { return l.known[l.provenanceFor(kernel).Key()] }

// News are the trials that count and were stored since the last call, in the order in which they were evaluated. Those
// whose kernels are others today do not count.
func (l *Ledger) News(today *Today) ([]trial.Trial, error) {
	if !l.shared {
		return nil, nil
	}
	info, err := l.store.Stat()
	if err == nil && l.seen != nil && info.ModTime().Equal(l.seen.ModTime()) && info.Size() == l.seen.Size() {
		return nil, nil
	}
	l.seen = info
	kept, err := l.store.Trials(l.id, func(h store.Head) bool {
		if l.known[h.Key] {
			return false
		}
		l.known[h.Key] = true
		return h.KernelDigest == "" || l.keyOf(h.KernelDigest) == h.Key && today.Has(h)
	})
	if err != nil {
		return nil, fmt.Errorf("read the cache: %w", err)
	}
	var news []trial.Trial
	for _, key := range InOrder(kept) {
		if l.keyOf(kept[key].KernelDigest) == key {
			news = append(news, kept[key])
		}
	}
	return news, nil
}

// InOrder lists the keys of kept trials in the order in which the trials were evaluated. So a resumed search is as
// repeatable as any other.
func InOrder(kept map[string]trial.Trial) []string {
	return slices.SortedFunc(maps.Keys(kept), func(a, b string) int {
		return cmp.Or(kept[a].At.Compare(kept[b].At), cmp.Compare(a, b))
	})
}

// Keep hands a trial to the store.
func (l *Ledger) Keep(t trial.Trial) error {
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

// Close writes what is not written yet and gives up all claims: what was evaluated is in the store by now, and the rest
// is for others.
func (l *Ledger) Close() (err error) {
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

// Winner reads into record what an earlier search of the same provenance kept beside its winner. It tells whether there
// is any.
func (l *Ledger) Winner(record any) (found bool, err error) {
	if l.store == nil {
		return false, nil
	}
	w, found, err := l.store.Winner(l.id)
	if err != nil || !found {
		return false, err
	}
	return l.Same(w.Provenance) && json.Unmarshal(w.Result, record) == nil, nil
}

// Crown keeps a winner and the record around it. Sources is the digest of the operator's kernels.
func (l *Ledger) Crown(winner trial.Trial, sources string, record any) error {
	if l.store == nil {
		return nil
	}
	text, err := json.Marshal(record)
	if err == nil {
		err = l.store.PutWinner(l.id, store.Winner{
			Provenance: l.provenanceFor(winner.KernelDigest), Sources: sources, TimeMS: winner.Time.Median, Result: text,
		})
	}
	if err != nil {
		return fmt.Errorf("keep the winner in the cache: %w", err)
	}
	return nil
}
