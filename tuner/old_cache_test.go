package tuner_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"autotune/space"
	"autotune/tuner"
	"autotune/tuner/operator"
	"autotune/tuner/store"
	"autotune/tuner/trial"
	"autotune/tuner/winners"
)

// mixedOperator has 16 configurations with values of every kind.
const mixedOperator = `
operator: mixed
summary: copies its input
shape: [n]
parameters: {depth: {type: int, default: 2, summary: of nothing}}
tensors:
  - {name: x, role: input,  shape: [n]}
  - {name: y, role: output, shape: [n]}
inputs: [uniform01]
cost: {bytes: 8*n, flops: n}
reference: reference.cu
templates:
  - name: plain
    source: plain.cu
    tunables: {rows: [1, 2], share: [0.5, 1.0], wide: [false, true], hint: ["plain", "streaming"]}
    launch: {block: [32, 1, 1], grid: ["ceil_div(n, 32)", 1, 1], shared: 0}
    default: {rows: 1, share: 0.5, wide: false, hint: "plain"}
`

func mixedProblem(t *testing.T, n int64) *operator.Problem {
	t.Helper()
	return problemFrom(t, "mixed", mixedOperator, n)
}

// oldCache is a cache that an earlier version wrote: a whole search of the mixed
// operator for 64 elements on the fake device. That version kept configurations
// as maps, which lost the order of tunables and wrote 1.0 as 1, and parameters
// as a list.
func oldCache(t *testing.T) *store.Store {
	t.Helper()
	packed, err := os.ReadFile(filepath.Join("testdata", "old_cache.db.gz"))
	if err != nil {
		t.Fatal(err)
	}
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "cache.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(context.Background(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// keptTrials are all trials of a cache with one problem.
func keptTrials(t *testing.T, s *store.Store) map[string]trial.Trial {
	t.Helper()
	winners, err := s.Winners("mixed", "", true)
	if err != nil || len(winners) == 0 {
		t.Fatal(len(winners), err)
	}
	trials, err := s.Trials(winners[0].Problem, nil)
	if err != nil {
		t.Fatal(err)
	}
	return trials
}

// A cache of a version whose digests leave out launches and tolerances: what its trials
// were made with is not known, so they are evaluated again. None is lost.
func TestOldCacheIsKept(t *testing.T) {
	s := oldCache(t)
	before := keptTrials(t, s)
	const winner = "plain rows=2 share=1.0 wide=true hint=streaming"
	if issues, err := s.Check(t.Context()); err != nil || len(issues) > 0 {
		t.Errorf("issues %v, %v", issues, err)
	}
	d := &fakeDevice{driver: "1", evaluate: func(c space.Configuration) (trial.Outcome, error) {
		if c.String() == winner {
			return took(1), nil
		}
		return took(2), nil
	}}
	r, err := tuner.Search(t.Context(), mixedProblem(t, 64), d, tuner.Options{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	if r.Resumed != 0 || len(r.Trials) != 16 || r.Gates == nil {
		t.Errorf("%d of %d trials resumed, gates %+v; want none of 16, and some", r.Resumed, len(r.Trials), r.Gates)
	}
	slices.Sort(d.evaluated)
	if again := slices.Compact(d.evaluated); len(again) != 16 {
		t.Errorf("evaluated %q; want all of 16", again)
	}
	after := keptTrials(t, s)
	if len(before) != 16 || len(after) != 32 {
		t.Errorf("the cache had %d trials and has %d; want 16 and 32", len(before), len(after))
	}
	for key, old := range before {
		if !reflect.DeepEqual(after[key], old) {
			t.Errorf("the cache has lost %s", old.Configuration)
		}
	}
	resumed, err := tuner.Search(t.Context(), mixedProblem(t, 64), d, tuner.Options{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	if resumed.Resumed != 16 {
		t.Errorf("the next search resumed %d; want the 16 new trials", resumed.Resumed)
	}
	if r.Winner.String() != winner || r.Winner.Time.Median != 1 || r.Ceilings.ReferenceMS != 100 {
		t.Errorf("winner %s with %v, reference %v ms", r.Winner, r.Winner.Time, r.Ceilings.ReferenceMS)
	}
}

// A search of a similar problem starts from the old cache's winner.
func TestOldWinnerIsStartedFrom(t *testing.T) {
	d := &fakeDevice{driver: "1", evaluate: func(space.Configuration) (trial.Outcome, error) { return took(1), nil }}
	r, err := tuner.Search(t.Context(), mixedProblem(t, 128), d, tuner.Options{Store: oldCache(t), Budget: 2, Strategy: "random"})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.StartedFrom) != 1 || r.StartedFrom[0] != mixedProblem(t, 64).String() {
		t.Errorf("started from %q", r.StartedFrom)
	}
	if want := "plain rows=2 share=1.0 wide=true hint=streaming"; !slices.Contains(d.evaluated, want) {
		t.Errorf("evaluated %q, want %s among them", d.evaluated, want)
	}
	if records, err := winners.List(oldCache(t), "mixed"); err != nil || len(records) != 1 || records[0].Problem.Parameters[0].Value != "2" {
		t.Errorf("winners %+v, %v", records, err)
	}
}
