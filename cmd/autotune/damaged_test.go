package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"autotune/internal/test/endurance"
)

// damagedUses counts how a command fared on damaged caches.
type damagedUses struct {
	worked  int
	seconds float64
	mb      int64
}

// Caches are cut, or get another byte, in many places. Each command that uses one works,
// or says in one line what is wrong, within the bounds. No trial that was whole is lost.
// A file that a command refuses stays as it is.
func damagedCaches(t *testing.T, s *seasoned) {
	const side = 2 // places tried side by side
	cache, places := s.bytes(t), endurance.Times(2, 500)
	var mu sync.Mutex
	fared := map[string]damagedUses{}
	t.Run("places", func(t *testing.T) {
		for first := range side {
			t.Run(fmt.Sprint(first), func(t *testing.T) {
				t.Parallel()
				rng := rand.New(rand.NewPCG(15, uint64(first)))
				for n := first; n < places; n += side {
					bad, what := endurance.Damage(cache, rng, n)
					before := saved(t, s.workplace(t, t.TempDir(), cacheUse{}, bad).cache)
					for _, use := range endurance.Some(cacheUses, 7) {
						e := s.runDamaged(t, use, bad, what, before)
						mu.Lock()
						f := fared[use.name]
						if f.seconds, f.mb = max(f.seconds, e.seconds), max(f.mb, e.mb); e.code == exitFound {
							f.worked++
						}
						fared[use.name] = f
						mu.Unlock()
					}
				}
			})
		}
	})
	for name, f := range fared {
		t.Logf("%s: worked on %d of %d, %.2f s and %d MB at most", name, f.worked, places, f.seconds, f.mb)
	}
}

// runDamaged runs a command on a damaged cache. Before are the trials in it that are whole.
func (s *seasoned) runDamaged(t *testing.T, use cacheUse, bad []byte, what string, before map[string]bool) ended {
	w := s.workplace(t, t.TempDir(), use, bad)
	e := s.run(t, w.line)
	if fault := e.fault(use); fault != "" {
		t.Errorf("%s, %s: %s: %s", use.name, what, fault, e.complaint)
	}
	now, err := os.ReadFile(w.cache)
	changed := err != nil || !bytes.Equal(now, bad)
	if changed && e.code != exitFound && !use.searches {
		t.Errorf("%s, %s: the file was changed: %v %s", use.name, what, err, e.complaint)
	}
	if changed {
		if gone := lost(before, saved(t, w.cache)); len(gone) > 0 {
			t.Errorf("%s, %s: %d of %d trials are lost: %s", use.name, what, len(gone), len(before), e.complaint)
		}
	}
	w.mustBeWhole(t)
	return e
}
