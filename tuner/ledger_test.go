package tuner

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/internal/test/must"
	"autotune/tuner/store"
)

func made(kernel string, second int64) trial.Trial {
	t := trial.Trial{KernelDigest: kernel, At: time.Unix(second, 0).UTC()}
	t.Status = trial.OK
	t.SetSamples([]float64{float64(second)}, 1)
	return t
}

// books returns a function that opens the ledger of a search with the given driver; all these ledgers share one store.
func books(t *testing.T) func(driver string, fresh bool) *ledger {
	path := filepath.Join(t.TempDir(), "cache.db")
	return func(driver string, fresh bool) *ledger {
		s, err := store.Open(t.Context(), path, store.Options{})
		must.OK(t, err)
		t.Cleanup(func() { s.Close() })
		id := store.ProblemID{Problem: "toy 64", Device: "fake", Kind: device.CUDA}
		return newLedger(s, id, store.Provenance{Device: "fake", Driver: driver}, fresh)
	}
}

func keptTrials(t *testing.T, l *ledger, trials ...trial.Trial) {
	t.Helper()
	for _, one := range trials {
		must.OK(t, l.keep(one))
	}
	must.OK(t, l.close())
}

// A search takes over the trials of earlier searches in the order of their evaluation, but no trials with another
// provenance. With the option Fresh, a search takes over no trials of earlier searches.
func TestTrialsThatCount(t *testing.T) {
	book := books(t)
	keptTrials(t, book("1", false), made("c", 3), made("a", 1), made("b", 2))
	keptTrials(t, book("2", false), made("other", 4))
	for l, want := range map[*ledger][]string{book("1", false): {"a", "b", "c"}, book("1", true): nil, {}: nil} {
		trials, err := l.trials()
		must.OK(t, err)
		kernels := lists.Of(trials, func(one trial.Trial) string { return one.KernelDigest })
		if !slices.Equal(kernels, want) {
			t.Errorf("trials %q, want %q", kernels, want)
		}
	}
}

// A search gets the stored record of an earlier winner only if the winner's provenance equals the provenance of the
// search.
func TestCrown(t *testing.T) {
	book := books(t)
	winner := made("k", 1)
	must.OK(t, book("1", false).crown(Record{Strategy: "first", Winner: &winner}))
	for l, want := range map[*ledger]bool{book("1", true): true, book("2", true): false, {}: false} {
		if r, err := l.winner(); err != nil || (r != nil) != want || want && r.Strategy != "first" {
			t.Errorf("%+v, %v; want %v", r, err, want)
		}
	}
}

// If the store fails, the ledger's error says what was being read or stored.
func TestClosedStore(t *testing.T) {
	l := books(t)("1", false)
	l.store.Close()
	_, err := l.trials()
	winner := made("k", 1)
	if err == nil || l.crown(Record{Winner: &winner}) == nil {
		t.Error(err)
	}
}

func TestDifference(t *testing.T) {
	own := store.Provenance{ReferenceDigest: "r", Driver: "2", Compiler: "NVRTC 13", Arch: "sm_90"}
	l := newLedger(nil, store.ProblemID{}, own, false)
	for want, change := range map[string]func(p *store.Provenance){
		"with the operator as it was before": func(p *store.Provenance) { p.ReferenceDigest, p.Driver = "", "1" },
		"with driver 1":                      func(p *store.Provenance) { p.Driver = "1" },
		"with compiler NVRTC 12 sm_90":       func(p *store.Provenance) { p.Compiler = "NVRTC 12" },
		"by another protocol":                func(p *store.Provenance) { p.Protocol.Seed = 7 },
	} {
		other := own
		change(&other)
		if got := l.difference(other); got != want || l.same(other) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
