package main

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"autotune/internal/test/endurance"
	"autotune/tuner/store"
)

// A command that uses a cache may be killed at any instant. A killed command must lose no trial that the cache held
// before and leave no incomplete file, and must succeed when it is run again.
func killedAnywhere(t *testing.T, s *seasoned) {
	cache := s.bytes(t)
	for _, use := range endurance.Some(cacheUses, 7) {
		t.Run(use.name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(13, uint64(len(use.line))))
			begin := time.Now()
			usual := s.run(t, s.workplace(t, t.TempDir(), use, cache).line)
			span := time.Since(begin)
			killed, want := 0, endurance.Times(1, 200)
			for tries := 0; killed < want && tries < 5*want; tries++ {
				w := s.workplace(t, t.TempDir(), use, cache)
				after := time.Duration(rng.Int64N(int64(span)))
				if s.kill(t, w, after) {
					killed++
				} else {
					span = (span + after) / 2 // the first run was on a busier machine
				}
				if use.searches && tries%10 > 0 {
					continue // repeating a search takes too long
				}
				if again := s.run(t, w.line); again.code != usual.code && use.name != "rm" {
					t.Errorf("the command ends with %d, and after a kill with %d: %s", usual.code, again.code, again.complaint)
				}
			}
			if killed < want {
				t.Errorf("only %d of %d were killed within %v", killed, want, span)
			}
			t.Logf("%s: %d killed within %v", use.name, killed, span)
		})
	}
}

// kill starts a command, kills it after a delay and checks the files that it left. kill returns false if the command
// ended before the delay was over.
func (s *seasoned) kill(t *testing.T, w workplace, after time.Duration) bool {
	t.Helper()
	c, _ := s.command(t, "autotune", strings.Fields(w.line)...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(after)
	before, err := trialKeys(t, w.cache)
	if err != nil {
		t.Errorf("beside the command: %v", err)
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	if issues, err := store.CheckFile(t.Context(), w.cache); err != nil || len(issues) > 0 {
		t.Errorf("killed after %v: %v, %v", after, issues, err)
	}
	now, err := trialKeys(t, w.cache)
	if gone := lost(before, now); err != nil || len(gone) > 0 {
		t.Errorf("killed after %v: the trials %v are lost, %v", after, gone, err)
	}
	w.mustBeWhole(t)
	return !c.ProcessState.Exited()
}
