package store

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"autotune/internal/test/endurance"
	"autotune/internal/test/must"
)

// mergeAndRemove runs the operations that the child process of this test repeats until it is killed. The file `from` is
// a cache with more than one batch of trials.
func mergeAndRemove(s *Store, from string) error {
	_, err := s.Remove(func(p Summary) bool { return p.Device != pool.Device })
	return errors.Join(merged(s, from), err)
}

func merged(s *Store, from string) error {
	f, err := Open(context.Background(), from, Options{ReadOnly: true})
	if err != nil {
		return err
	}
	_, err = s.Merge(context.Background(), f)
	return errors.Join(err, f.Close())
}

// A command that is killed at any moment loses no trial except those that it was asked to remove, and does not change a
// cache that it only reads.
func TestKilledCommands(t *testing.T) {
	path, from := newPath(t), newPath(t)
	old := pool
	old.Device = "NVIDIA A100"
	fill(t, open(t, from), old, mergeBatch+20)
	before := must.Read(t, from)
	fill(t, open(t, path), pool, 40)
	rng := rand.New(rand.NewPCG(9, 10))
	for range endurance.Times(20, 200) {
		process, said := second(t, "merge-and-rm", path, from)
		time.Sleep(time.Duration(rng.IntN(20_000)) * time.Microsecond)
		_ = process.Process.Kill()
		_ = process.Wait()
		for said.Scan() {
			t.Errorf("the command says %q", said.Text())
		}
		checkAcknowledged(t, path, 40)
		if after, err := os.ReadFile(from); err != nil || !bytes.Equal(before, after) {
			t.Fatal("the cache that is only read was changed")
		}
	}
}
