package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"autotune/internal/test/endurance"
)

// writing are the commands that write, each as a round that a process repeats until it is killed. from is a cache with
// more than a batch, all of it older than what s holds.
var writing = map[string]func(s *Store, from string, round int) error{
	"merge-and-gc": func(s *Store, from string, _ int) error {
		edge, err := os.Stat(from + ".edge")
		if err != nil {
			return err
		}
		_, err = s.Remove(Stale{Before: edge.ModTime(), Bytes: math.MaxInt64}.Choose)
		return errors.Join(merged(s, from), err)
	},
	"merge-and-rm": func(s *Store, from string, _ int) error {
		_, err := s.Remove(func(all []Summary) []Summary {
			return slices.DeleteFunc(all, func(p Summary) bool { return p.Device == pool.Device })
		})
		return errors.Join(merged(s, from), err)
	},
	"import": func(s *Store, _ string, round int) error {
		device := pool
		device.Device = fmt.Sprint("NVIDIA A100, copy ", round)
		var entries []Entry
		for i := range mergeBatch + 20 {
			entries = append(entries, sample(i))
		}
		_, err := s.Add(context.Background(), device, entries)
		return err
	},
}

func merged(s *Store, from string) error {
	f, err := Open(context.Background(), from, Options{ReadOnly: true})
	if err != nil {
		return err
	}
	_, err = s.Merge(context.Background(), f)
	return errors.Join(err, f.Close())
}

// A command may be killed at any instant. It loses no trial that it was not to remove, and changes no cache that it
// only reads.
func TestKilledCommands(t *testing.T) {
	kills := endurance.Times(20, 200)
	for name := range writing {
		t.Run(name, func(t *testing.T) {
			path, from := newPath(t), newPath(t)
			other := open(t, from)
			old := pool
			old.Device = "NVIDIA A100"
			fill(t, other, old, mergeBatch+20)
			must(t, os.WriteFile(from+".edge", nil, 0o644))
			before, err := os.ReadFile(from)
			must(t, err)
			time.Sleep(20 * time.Millisecond) // a file's time is coarser than ours
			fill(t, open(t, path), pool, 40)
			rng := rand.New(rand.NewPCG(9, 10))
			for range kills {
				process, said := second(t, name, path, from)
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
		})
	}
}
