package store

import (
	"path/filepath"
	"testing"

	"autotune/internal/test/must"
)

// Any file, however damaged, either can be merged, opened, checked and written to, or is refused.
func FuzzFile(f *testing.F) {
	path := filepath.Join(f.TempDir(), "seed.db")
	s, err := Open(f.Context(), path, Options{})
	must.OK(f, err)
	for i := range 3 {
		must.OK(f, s.PutTrials(pool, []Entry{sample(i)}))
	}
	raw := must.Read(f, path)
	f.Add(raw, uint32(4096), []byte{1, 2, 3})
	f.Add(raw[:9000], uint32(8192), []byte{})
	f.Fuzz(func(t *testing.T, raw []byte, at uint32, bytes []byte) {
		if len(raw) > 1<<20 {
			return
		}
		// The fuzz test writes chosen bytes at chosen offsets, which reaches more code than random changes do.
		if n := len(raw); n > 0 {
			copy(raw[int(at)%n:], bytes)
		}
		path := damagedCopy(t, raw)
		saved(t, path)
		_ = use(t, path)
	})
}
