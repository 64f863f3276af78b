package tuner

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/test/toy"
	"autotune/tuner/store"
)

func made(kernel string, second int64) trial.Trial {
	t := trial.Trial{KernelDigest: kernel, At: time.Unix(second, 0).UTC()}
	t.Status = trial.OK
	t.SetSamples([]float64{float64(second)}, 1)
	return t
}

// books makes ledgers of searches with a driver that share a store.
func books(t *testing.T) func(driver string, fresh bool) *ledger {
	path := filepath.Join(t.TempDir(), "cache.db")
	return func(driver string, fresh bool) *ledger {
		s, err := store.Open(t.Context(), path, store.Options{})
		toy.Must(t, err)
		t.Cleanup(func() { s.Close() })
		id := store.ProblemID{Problem: "toy 64", Device: "fake", Kind: device.CUDA}
		return newLedger(s, id, store.Provenance{Device: "fake", Driver: driver}, fresh)
	}
}

func keptTrials(t *testing.T, l *ledger, trials ...trial.Trial) {
	t.Helper()
	for _, one := range trials {
		toy.Must(t, l.keep(one))
	}
	toy.Must(t, l.close())
}

// A search hears of others' trials once, in the order of their evaluation, and not of those that were measured
// otherwise.
func TestNews(t *testing.T) {
	book := books(t)
	heard := func(l *ledger, want ...string) {
		t.Helper()
		news, err := l.news()
		toy.Must(t, err)
		var kernels []string
		for _, one := range news {
			kernels = append(kernels, one.KernelDigest)
		}
		if !slices.Equal(kernels, want) {
			t.Errorf("news %q, want %q", kernels, want)
		}
	}
	mine := book("1", false)
	heard(mine)
	keptTrials(t, book("1", false), made("c", 3), made("a", 1), made("b", 2))
	keptTrials(t, book("2", false), made("other", 4))
	heard(mine, "a", "b", "c")
	if !mine.knows("a") || mine.knows("other") {
		t.Error("knows a trial of another driver, or lacks its own")
	}
	heard(mine)
	heard(book("1", true)) // a fresh search
	keptTrials(t, mine, made("d", 5))
	heard(mine)
}

// What one search claims, another does not get until it is given up.
func TestClaim(t *testing.T) {
	book := books(t)
	a, b := book("1", false), book("1", false)
	claim := func(l *ledger, kernel string, want bool) {
		t.Helper()
		if mine, err := l.claim(kernel); err != nil || mine != want {
			t.Errorf("%s: %v, %v; want %v", kernel, mine, err, want)
		}
	}
	claim(a, "k", true)
	claim(b, "k", false)
	claim(b, "l", true)
	claim(book("1", true), "k", true) // it does not share
	claim(&ledger{}, "k", true)
	keptTrials(t, a)
	claim(b, "k", true)
}

// The kept record comes back to searches that measure alike.
func TestCrown(t *testing.T) {
	book := books(t)
	winner := made("k", 1)
	toy.Must(t, book("1", false).crown(Record{Strategy: "first", Winner: &winner}))
	for l, want := range map[*ledger]bool{book("1", true): true, book("2", true): false, {}: false} {
		if r, err := l.winner(); err != nil || (r != nil) != want || want && r.Strategy != "first" {
			t.Errorf("%+v, %v; want %v", r, err, want)
		}
	}
}

// A store that fails says what it was asked to do.
func TestClosedStore(t *testing.T) {
	l := books(t)("1", false)
	l.store.Close()
	_, claim := l.claim("k")
	_, news := l.news()
	winner := made("k", 1)
	if claim == nil || news == nil || l.crown(Record{Winner: &winner}) == nil {
		t.Errorf("claim %v, news %v", claim, news)
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
