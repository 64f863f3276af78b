package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"autotune/internal/test/endurance"
)

// writing are the commands that write, each as a round that a process repeats until it is killed. from is a cache with
// more than a batch, all of it older than what s holds.
var writing = map[string]func(s *Store, from string, round int) error{
	"merge-and-rm": func(s *Store, from string, _ int) error {
		_, err := s.Remove(func(all []Summary) []Summary {
			return slices.DeleteFunc(all, func(p Summary) bool { return p.Device == pool.Device })
		})
		return errors.Join(merged(s, from), err)
	},
	"repair": func(s *Store, _ string, round int) error {
		_, _, err := Repair(context.Background(), s.path, fmt.Sprintf("%s.%d.%d", s.path, os.Getpid(), round))
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

// A command may be killed at any instant. It loses no trial that it was not to remove, changes no cache that it only
// reads, and leaves no half of a new one.
func TestKilledCommands(t *testing.T) {
	kills := endurance.Times(20, 200)
	for name := range writing {
		t.Run(name, func(t *testing.T) {
			path, from := newPath(t), newPath(t)
			other := open(t, from)
			old := pool
			old.Device = "NVIDIA A100"
			fill(t, other, old, pieceBatch+20)
			before, err := os.ReadFile(from)
			must(t, err)
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
			copies, err := filepath.Glob(path + ".*.*")
			if err != nil || (name == "repair" && len(copies) == 0) {
				t.Errorf("nothing was copied, %v", err)
			}
			for _, name := range copies {
				if info, err := os.Stat(name); err == nil && info.Mode()&fs.ModeDir == 0 {
					checkAcknowledged(t, name, 40)
				}
			}
		})
	}
}
