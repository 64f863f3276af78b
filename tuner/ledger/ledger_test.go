package ledger_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/test/toy"
	"autotune/operator"
	"autotune/tuner/ledger"
	"autotune/tuner/store"
)

var id = store.ProblemID{Problem: "toy 64", Device: "fake", Kind: device.CUDA}

func open(t *testing.T, path string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), path, store.Options{})
	toy.Must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func made(kernel string, second int64) trial.Trial {
	t := trial.Trial{KernelDigest: kernel, At: time.Unix(second, 0).UTC()}
	t.Status = trial.OK
	t.SetSamples([]float64{float64(second)}, 1)
	return t
}

func driver(name string) store.Provenance { return store.Provenance{Device: "fake", Driver: name} }

func kernels(t *testing.T, l *ledger.Ledger) (all []string) {
	t.Helper()
	news, err := l.News(nil)
	toy.Must(t, err)
	for _, one := range news {
		all = append(all, one.KernelDigest)
	}
	return all
}

func keep(t *testing.T, l *ledger.Ledger, trials ...trial.Trial) {
	t.Helper()
	for _, one := range trials {
		toy.Must(t, l.Keep(one))
	}
	toy.Must(t, l.Close())
}

// A search hears of others' trials once, in the order of their evaluation, and not of those that were measured
// otherwise.
func TestNews(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.db")
	mine := ledger.New(open(t, path), id, driver("1"), false)
	fresh := ledger.New(open(t, path), id, driver("1"), true)
	if got := kernels(t, mine); got != nil {
		t.Errorf("an empty store has news %q", got)
	}
	keep(t, ledger.New(open(t, path), id, driver("1"), false), made("c", 3), made("a", 1), made("b", 2))
	keep(t, ledger.New(open(t, path), id, driver("2"), false), made("other", 4))
	if got := kernels(t, mine); !slices.Equal(got, []string{"a", "b", "c"}) || !mine.Knows("a") || mine.Knows("other") {
		t.Errorf("news %q", got)
	}
	if got := kernels(t, mine); got != nil {
		t.Errorf("the same again: %q", got)
	}
	if got := kernels(t, fresh); got != nil {
		t.Errorf("a fresh search hears of %q", got)
	}
	keep(t, mine, made("d", 5))
	if got := kernels(t, mine); got != nil {
		t.Errorf("a search hears of its own %q", got)
	}
}

// What one search claims, another does not get until it is given up.
func TestClaim(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.db")
	a, b := ledger.New(open(t, path), id, driver("1"), false), ledger.New(open(t, path), id, driver("1"), false)
	claim := func(l *ledger.Ledger, kernel string, want bool) {
		t.Helper()
		if mine, err := l.Claim(kernel); err != nil || mine != want {
			t.Errorf("%s: %v, %v; want %v", kernel, mine, err, want)
		}
	}
	claim(a, "k", true)
	claim(b, "k", false)
	claim(b, "l", true)
	claim(ledger.New(open(t, path), id, driver("1"), true), "k", true) // it does not share
	claim(&ledger.Ledger{}, "k", true)
	keep(t, a)
	claim(b, "k", true)
}

// The kept record comes back to searches that measure alike.
func TestCrown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.db")
	type record struct{ Note string }
	mine := ledger.New(open(t, path), id, driver("1"), false)
	if found, err := mine.Winner(&record{}); found || err != nil {
		t.Errorf("%v, %v", found, err)
	}
	toy.Must(t, mine.Crown(made("k", 1), "sources", record{"first"}))
	for name, want := range map[string]bool{"1": true, "2": false} {
		var r record
		if found, err := ledger.New(open(t, path), id, driver(name), true).Winner(&r); err != nil || found != want || found && r.Note != "first" {
			t.Errorf("driver %s: %v, %+v, %v", name, found, r, err)
		}
	}
	if found, err := (&ledger.Ledger{}).Winner(&record{}); found || err != nil {
		t.Errorf("without a store: %v, %v", found, err)
	}
}

// A store that fails says what it was asked to do.
func TestClosedStore(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "cache.db"))
	l := ledger.New(s, id, driver("1"), false)
	s.Close()
	_, claim := l.Claim("k")
	_, news := l.News(nil)
	if claim == nil || news == nil || l.Crown(made("k", 1), "", nil) == nil {
		t.Errorf("claim %v, news %v", claim, news)
	}
}

func TestDifference(t *testing.T) {
	own := store.Provenance{ReferenceDigest: "r", Driver: "2", Compiler: "NVRTC 13", Arch: "sm_90"}
	l := ledger.New(nil, id, own, false)
	for want, change := range map[string]func(p *store.Provenance){
		"with the operator as it was before": func(p *store.Provenance) { p.ReferenceDigest, p.Driver = "", "1" },
		"with driver 1":                      func(p *store.Provenance) { p.Driver = "1" },
		"with compiler NVRTC 12 sm_90":       func(p *store.Provenance) { p.Compiler = "NVRTC 12" },
		"by another protocol":                func(p *store.Provenance) { p.Protocol.Seed = 7 },
	} {
		other := own
		change(&other)
		if got := l.Difference(other); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Trials of kernels that were edited since are no news, and are not asked for again.
func TestNewsOfToday(t *testing.T) {
	op, err := operator.Find("max_pool2d")
	toy.Must(t, err)
	p, err := op.Bind(operator.Request{Shape: []int64{1, 2, 8, 8}}, operator.TypicalLimits())
	toy.Must(t, err)
	sp, err := p.Space(t.Context())
	toy.Must(t, err)
	k, err := p.Kernel(sp.At(0))
	toy.Must(t, err)
	path := filepath.Join(t.TempDir(), "cache.db")
	current, edited, elsewhere := made(k.Digest(), 1), made("0123456789abcdef", 2), made(k.Digest()[:10], 3)
	current.Configuration, edited.Configuration = sp.At(0), sp.At(0)
	elsewhere.Template = "gone"
	keep(t, ledger.New(open(t, path), id, driver("1"), false), current, edited, elsewhere)
	news, err := ledger.New(open(t, path), id, driver("1"), false).News(ledger.NewToday(p.Kernel, sp))
	if err != nil || len(news) != 1 || news[0].KernelDigest != k.Digest() {
		t.Errorf("%v, %v", news, err)
	}
}
