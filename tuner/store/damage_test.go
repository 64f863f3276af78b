package store

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"autotune/internal/test/must"

	"go.etcd.io/bbolt"
)

// filled returns the bytes of a store that has several pages.
func filled(t *testing.T) []byte {
	t.Helper()
	return bytesOf(t, func(s *Store) {
		fill(t, s, pool, 200)
		must.OK(t, s.PutWinner(pool, Winner{TimeMS: 1}))
	})
}

// bytesOf returns the bytes of a store after write has written to it.
func bytesOf(t *testing.T, write func(s *Store)) []byte {
	t.Helper()
	path := newPath(t)
	s := open(t, path)
	write(s)
	must.OK(t, s.Close())
	raw := must.Read(t, path)
	return raw
}

// use checks, reads and writes a file as searches and commands do, and returns the first error. A damaged file must not
// make `use` hang, whatever the file contains.
func use(t *testing.T, path string) error {
	t.Helper()
	if _, err := CheckFile(t.Context(), path); err != nil {
		return err
	}
	s, err := Open(t.Context(), path, Options{Wait: -1})
	if err != nil {
		return err
	}
	_, err = s.Problems()
	_, trials := s.Entries(pool)
	_, _, winner := s.Winner(pool)
	put := s.PutTrials(pool, []Entry{sample(1000)})
	return errors.Join(err, trials, winner, put, s.Close())
}

func damagedCopy(t *testing.T, raw []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cache.db")
	must.OK(t, os.WriteFile(path, raw, 0o644))
	return path
}

// saved merges a file into a new one, and returns the keys of the merged trials. saved also checks that the trials have
// not changed, that the new file is sound, and that the old file is unchanged.
func saved(t *testing.T, path string) (keys map[string]bool, lost error) {
	t.Helper()
	before := must.Read(t, path)
	keys = map[string]bool{}
	from, err := Open(t.Context(), path, Options{ReadOnly: true})
	if err != nil {
		return keys, err
	}
	defer from.Close()
	into := open(t, filepath.Join(t.TempDir(), "saved.db"))
	tally, lost := into.Merge(t.Context(), from)
	mustBeSound(t, into)
	problems, err := into.Problems()
	must.OK(t, err)
	for _, p := range problems {
		for key, got := range mustTrials(t, into, p.ProblemID) {
			keys[key] = true
			if want := sample(int(got.Time.Median)); want.Provenance.Key() != key || !reflect.DeepEqual(got, want.Trial) {
				t.Errorf("%s became %+v", key, got)
			}
		}
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(after, before) || len(keys) > tally.Trials {
		t.Errorf("the damaged file was changed, or %d trials are taken for %d", len(keys), tally.Trials)
	}
	return keys, lost
}

// A file that was cut or in which bytes were changed either works or is reported as damaged, and never causes a panic
// or a hang. A merge copies the intact trials of a damaged file unchanged, and reports that it has lost others.
func TestDamagedFiles(t *testing.T) {
	raw := filled(t)
	page := os.Getpagesize()
	flipped := func(rng *rand.Rand, from, n int) []byte {
		bad := bytes.Clone(raw)
		for range n {
			bad[from+rng.IntN(len(bad)-from)] ^= byte(1 + rng.IntN(255))
		}
		return bad
	}
	for name, c := range map[string]struct {
		times   int
		damaged func(rng *rand.Rand, n int) []byte
		least   int // least number of files that give back nearly all trials
	}{
		"one byte":       {10, func(rng *rand.Rand, _ int) []byte { return flipped(rng, 0, 1) }, 3},
		"some bytes":     {20, func(rng *rand.Rand, _ int) []byte { return flipped(rng, 2*page, 1+rng.IntN(4)) }, 1},
		"many bytes":     {10, func(rng *rand.Rand, _ int) []byte { return flipped(rng, 0, 1+rng.IntN(200)) }, 0},
		"cut":            {10, func(rng *rand.Rand, _ int) []byte { return raw[:1+rng.IntN(len(raw)-1)] }, 0},
		"cut at a place": {4, func(_ *rand.Rand, n int) []byte { return raw[:[]int{1, 4096, 8192, len(raw) / 4 * 3}[n]] }, 0},
		"a page's header": {(len(raw)/page - 2) / 4, func(_ *rand.Rand, n int) []byte {
			bad := bytes.Clone(raw)
			copy(bad[(4*n+2)*page:], bytes.Repeat([]byte{0xff}, 64))
			return bad
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() {
				c.times, c.least = min(c.times, 4), 0
			}
			rng, most := rand.New(rand.NewPCG(1, 2)), 0
			for n := range c.times {
				bad := c.damaged(rng, n)
				path := damagedCopy(t, bad)
				err := use(t, path)
				var damaged *DamagedError
				var foreign *ForeignError
				if err != nil && !errors.As(err, &damaged) && !errors.As(err, &foreign) {
					t.Errorf("file %d: %v, want a DamagedError", n, err)
				}
				found, lost := saved(t, damagedCopy(t, bad))
				if len(found) < 200 && lost == nil && name != "some bytes" {
					t.Errorf("file %d: %d of 200 trials are left and nothing says why", n, len(found))
				}
				if len(found) >= 190 {
					most++
				}
			}
			if most < c.least {
				t.Errorf("%d of %d files gave back nearly all of their trials, want %d", most, c.times, c.least)
			}
		})
	}
}

func TestDamagedMetaPages(t *testing.T) {
	raw := filled(t)
	flip := func(offsets ...int) []byte {
		bad := append([]byte(nil), raw...)
		for _, offset := range offsets {
			bad[offset] ^= 0xff
		}
		return bad
	}
	page := os.Getpagesize()
	if err := use(t, damagedCopy(t, flip(56))); err != nil {
		t.Errorf("one of two meta pages is enough, got %v", err)
	}
	path := damagedCopy(t, flip(56, page+56))
	err := use(t, path)
	var damaged *DamagedError
	if err != nil && !errors.As(err, &damaged) {
		t.Errorf("got %v", err)
	}
	_, err = Open(t.Context(), path, Options{})
	if !errors.As(err, &damaged) || !strings.Contains(err.Error(), "autotune cache check --cache "+path) {
		t.Errorf("got %v, want a DamagedError that says what to do", err)
	}
	issues, err := CheckFile(t.Context(), path)
	if err != nil || len(issues) != 1 {
		t.Errorf("check gives %v, %v; want one issue", issues, err)
	}
}

func TestAFlippedBitIsNeverAnotherTime(t *testing.T) {
	path := newPath(t)
	s := open(t, path)
	fill(t, s, pool, 1)
	must.OK(t, s.Close())
	raw := must.Read(t, path)
	bad := strings.ReplaceAll(string(raw), `"median":0.25`, `"median":0.15`)
	if bad == string(raw) {
		t.Fatal("the time is not in the file as this test expects it")
	}
	damagedPath := damagedCopy(t, []byte(bad))
	s = open(t, damagedPath)
	var damaged *DamagedError
	if got, err := s.Entries(pool); !errors.As(err, &damaged) {
		t.Errorf("got %v, %v; want a DamagedError", got, err)
	}
	issues, err := s.Check(t.Context())
	if err != nil || len(issues) != 1 || !strings.Contains(issues[0].Message, "checksum") {
		t.Errorf("check gives %v, %v", issues, err)
	}
}

// The check reports an issue if it finds a value in a place where autotune never stores one. A bucket in the wrong
// place is not read, since a flipped bit may have turned a value into a bucket.
func TestCheckFindsMisplacedValues(t *testing.T) {
	other := pool
	other.Device = "NVIDIA A100"
	raw, err := encode(Winner{Problem: other})
	must.OK(t, err)
	misplaced, err := encode(sample(7))
	must.OK(t, err)
	bucket := func(_ *bbolt.Bucket, err error) error { return err }
	for name, change := range map[string]func(tx *bbolt.Tx, problem *bbolt.Bucket) error{
		"another's winner": func(_ *bbolt.Tx, p *bbolt.Bucket) error { return p.Put(winnerKey, raw) },
		"another's trial": func(_ *bbolt.Tx, p *bbolt.Bucket) error {
			return p.Bucket(trialsBucket).Put([]byte("here"), misplaced)
		},
		"at the top": func(tx *bbolt.Tx, _ *bbolt.Bucket) error { return bucket(tx.CreateBucket([]byte("stray"))) },
		"no problem's name": func(tx *bbolt.Tx, _ *bbolt.Bucket) error {
			return bucket(tx.Bucket(problemsBucket).CreateBucket([]byte("stray")))
		},
		"among the trials": func(_ *bbolt.Tx, p *bbolt.Bucket) error {
			return bucket(p.Bucket(trialsBucket).CreateBucket([]byte("stray")))
		},
		"a value for a problem": func(tx *bbolt.Tx, _ *bbolt.Bucket) error {
			return tx.Bucket(problemsBucket).Put([]byte("a\x00b\x00c"), []byte("value"))
		},
		"a value for the trials": func(_ *bbolt.Tx, p *bbolt.Bucket) error {
			return errors.Join(p.DeleteBucket(trialsBucket), p.Put(trialsBucket, []byte("value")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, newPath(t))
			fill(t, s, pool, 2)
			must.OK(t, s.update(func(tx *bbolt.Tx) error { return change(tx, bucketOf(tx, pool)) }))
			if issues, err := s.Check(t.Context()); err != nil || len(issues) != 1 {
				t.Errorf("got %v, %v; want one issue", issues, err)
			}
		})
	}
}
