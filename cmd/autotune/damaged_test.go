package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"testing"

	"autotune/internal/endurance"
)

// Wherever a cache is cut or has another byte, each command that uses it works or
// says in one line what is wrong, within the bounds, and no trial that was whole is
// lost. A file that a command refuses stays as it is.
func damagedCaches(t *testing.T, s *seasoned) {
	cache := s.bytes(t)
	for _, use := range cacheUses {
		t.Run(use.name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(15, uint64(len(use.line))))
			worked, seconds, mb := 0, 0.0, int64(0)
			for n := range endurance.Times(3, 500) {
				bad, what := endurance.Damage(cache, rng, n)
				w := s.workplace(t, t.TempDir(), use, bad)
				before := saved(t, w.cache)
				e := s.run(t, w.line)
				if fault := e.fault(use); fault != "" {
					t.Errorf("%s: %s: %s", what, fault, e.complaint)
				}
				if gone := lost(before, saved(t, w.cache)); len(gone) > 0 {
					t.Errorf("%s: %d of %d trials are lost: %s", what, len(gone), len(before), e.complaint)
				}
				if now, err := os.ReadFile(w.cache); e.code != exitFound && !use.searches && (err != nil || !bytes.Equal(now, bad)) {
					t.Errorf("%s: the file was changed: %s", what, e.complaint)
				}
				w.mustBeWhole(t)
				if seconds, mb = max(seconds, e.seconds), max(mb, e.mb); e.code == exitFound {
					worked++
				}
			}
			t.Logf("%s: %d worked; %.2f s and %d MB at most", use.name, worked, seconds, mb)
		})
	}
}
