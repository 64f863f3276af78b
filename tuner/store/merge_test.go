package store

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"autotune/internal/test/must"
)

func wonAt(day int) Winner {
	at := time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC)
	return Winner{TimeMS: float64(day), Result: json.RawMessage(fmt.Sprintf(`{"at":%q}`, at.Format(time.RFC3339)))}
}

func mustMerge(t *testing.T, into, from *Store) Tally {
	t.Helper()
	tally, err := into.Merge(t.Context(), from)
	must.OK(t, err)
	mustBeSound(t, into)
	return tally
}

func TestMergeKeepsKnownTrials(t *testing.T) {
	into, from := open(t, newPath(t)), open(t, newPath(t))
	fill(t, from, pool, 600) // more than one batch
	known := sample(3)
	known.Trial.Message = "known"
	must.OK(t, into.PutTrials(pool, []Entry{known, sample(1000)}))
	other := pool
	other.Device = "NVIDIA A100"
	fill(t, from, other, 5)
	if tally := mustMerge(t, into, from); tally.Trials != 604 || tally.Problems != 2 || tally.Winners != 0 {
		t.Errorf("took %+v", tally)
	}
	found := mustTrials(t, into, pool)
	if len(found) != 601 || found[known.Provenance.Key()].Message != "known" || len(mustTrials(t, into, other)) != 5 {
		t.Errorf("holds %d trials, the known one is %+v", len(found), found[known.Provenance.Key()])
	}
	if tally := mustMerge(t, into, from); tally.Trials+tally.Winners+tally.Problems != 0 {
		t.Errorf("again it took %+v", tally)
	}
}

// Caches merged in any order keep the newest winner.
func TestMergeKeepsTheNewestWinner(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		stores := []*Store{open(t, newPath(t)), open(t, newPath(t)), open(t, newPath(t))}
		last := 1 + rng.IntN(6)
		for day := range last {
			must.OK(t, stores[rng.IntN(3)].PutWinner(pool, wonAt(day+1)))
		}
		into := stores[rng.IntN(3)]
		for _, from := range stores {
			if from != into {
				mustMerge(t, into, from)
			}
		}
		if w, found, err := into.Winner(pool); err != nil || !found || w.TimeMS != float64(last) {
			t.Fatalf("the winner is %v (%v, %v), want that of day %d", w.TimeMS, found, err, last)
		}
	}
}

func TestMergeRefusesItself(t *testing.T) {
	path := newPath(t)
	if _, err := open(t, path).Merge(t.Context(), open(t, path)); err == nil {
		t.Error("a file was merged into itself")
	}
}

// A merge does not block writers, and loses none of their trials.
func TestMergeBesideAWriter(t *testing.T) {
	path := newPath(t)
	from := open(t, newPath(t))
	fill(t, from, pool, 2000)
	writer, lines := second(t, "write", path, "5000")
	into, err := Open(t.Context(), path, Options{})
	must.OK(t, err)
	defer into.Close()
	if _, err := into.Merge(t.Context(), from); err != nil {
		t.Fatal(err)
	}
	_ = writer.Process.Kill()
	next := 5000
	for lines.Scan() {
		i, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatalf("the writer says %q", lines.Text())
		}
		next = i + 1
	}
	if next == 5000 {
		t.Error("nothing was written beside the merge")
	}
	found := mustTrials(t, into, pool)
	for i := range next {
		if _, ok := found[sample(i).Provenance.Key()]; !ok && (i < 2000 || i >= 5000) {
			t.Errorf("trial %d is lost", i)
		}
	}
}
