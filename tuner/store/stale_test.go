package store

import (
	"os"
	"testing"
	"time"

	"autotune/internal/test/must"

	"go.etcd.io/bbolt"
)

// The pages of a problem that was removed are used again for later trials.
func TestRemoveMakesRoom(t *testing.T) {
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
	must.OK(t, err)
	fill(t, s, pool, 3)
	before, err := os.Stat(s.path)
	must.OK(t, err)
	all, err := s.Problems()
	must.OK(t, err)
	gone, err := s.Remove(func(p Summary) bool { return p.UpdatedAt.Before(time.Now().Add(-24 * time.Hour)) })
	if err != nil || gone != 1 || len(mustTrials(t, s, old)) != 0 || len(mustTrials(t, s, pool)) != 3 {
		t.Fatalf("removed %v, %v", gone, err)
	}
	if size := all[0].Bytes; size < 300*300 || size > before.Size() {
		t.Errorf("300 trials take %d bytes of a file of %d", size, before.Size())
	}
	fill(t, s, pool, 250)
	if after, err := os.Stat(s.path); err != nil || after.Size() > before.Size() {
		t.Errorf("the file grew from %d bytes to %d, %v", before.Size(), after.Size(), err)
	}
	mustBeSound(t, s)
}
