package store

import (
	"math"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

func TestStaleChoosesTheOldest(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	var all []Summary // b was written first, then d, a, c
	for name, at := range map[string]time.Time{"a": day(5), "b": {}, "c": day(9), "d": day(2)} {
		all = append(all, Summary{ProblemID: ProblemID{Problem: name}, UpdatedAt: at, Bytes: 10})
	}
	for _, tt := range []struct {
		before time.Time
		bytes  int64
		gone   string
	}{
		{time.Time{}, math.MaxInt64, ""},
		{day(5), math.MaxInt64, "bd"},
		{day(30), math.MaxInt64, "bdac"},
		{time.Time{}, 40, ""},
		{time.Time{}, 39, "b"},
		{time.Time{}, 20, "bd"},
		{time.Time{}, 0, "bdac"},
		{day(6), 35, "bda"},
		{day(1), 15, "bda"},
	} {
		var gone strings.Builder
		for _, p := range (Stale{tt.before, tt.bytes}).Choose(all) {
			gone.WriteString(p.Problem)
		}
		if gone.String() != tt.gone {
			t.Errorf("before %v, %d bytes: %q goes, want %q", tt.before, tt.bytes, &gone, tt.gone)
		}
	}
}

// A removed problem makes room in the file for what comes next.
func TestRemoveStale(t *testing.T) {
	s := open(t, newPath(t))
	old := pool
	old.Device = "NVIDIA A100"
	fill(t, s, old, 300)
	err := s.update(func(tx *bbolt.Tx) error {
		raw, err := encode(time.Now().Add(-48 * time.Hour))
		if err != nil {
			return err
		}
		return bucketOf(tx, old).Put(updatedKey, raw)
	})
	must(t, err)
	fill(t, s, pool, 3)
	before, err := s.Stat()
	must(t, err)
	rule := Stale{Before: time.Now().Add(-24 * time.Hour), Bytes: math.MaxInt64}
	all, err := s.Problems()
	dry := rule.Choose(all)
	if err != nil || len(dry) != 1 || len(mustTrials(t, s, old)) != 300 {
		t.Fatalf("would remove %v, %v", dry, err)
	}
	if size := dry[0].Bytes; size < 300*300 || size > before.Size() {
		t.Errorf("300 trials take %d bytes of a file of %d", size, before.Size())
	}
	gone, err := s.Remove(rule.Choose)
	if err != nil || len(gone) != 1 || gone[0] != dry[0] || len(mustTrials(t, s, old)) != 0 || len(mustTrials(t, s, pool)) != 3 {
		t.Fatalf("removed %v, %v; said %v", gone, err, dry)
	}
	fill(t, s, pool, 250)
	if after, err := s.Stat(); err != nil || after.Size() > before.Size() {
		t.Errorf("the file grew from %d bytes to %d, %v", before.Size(), after.Size(), err)
	}
	mustBeSound(t, s)
}
