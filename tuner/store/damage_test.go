package store

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

// filled makes a store with some pages in it and returns its bytes.
func filled(t *testing.T) []byte {
	t.Helper()
	return bytesOf(t, func(s *Store) {
		fill(t, s, pool, 200)
		if err := s.PutWinner(pool, Winner{TimeMS: 1}); err != nil {
			t.Fatal(err)
		}
	})
}

// bytesOf makes a store, has it written and returns the file's bytes.
func bytesOf(t *testing.T, write func(s *Store)) []byte {
	t.Helper()
	path := newPath(t)
	s := open(t, path)
	write(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// use does with a file what searches and commands do, and returns the first error. It must come back, whatever is in
// the file.
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
	_, trials := s.Trials(pool, nil)
	_, _, winner := s.Winner(pool)
	put := s.PutTrials(pool, []Entry{sample(1000)})
	return errors.Join(err, trials, winner, put, s.Close())
}

// oneAtATime leaves a test out of short runs, which the race detector's are: it does much, in one goroutine.
func oneAtATime(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("does much, one thing at a time")
	}
}

func damagedCopy(t *testing.T, raw []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cache.db")
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTruncatedFiles(t *testing.T) {
	raw := filled(t)
	for _, size := range []int{1, 100, 4096, 5000, 8192, 16384, len(raw) / 2, len(raw) / 4 * 3} {
		path := damagedCopy(t, raw[:size])
		err := use(t, path)
		var damaged *DamagedError
		var foreign *ForeignError
		if !errors.As(err, &damaged) && !errors.As(err, &foreign) {
			t.Errorf("%d of %d bytes: got %v, want a DamagedError", size, len(raw), err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() != int64(size) {
			t.Errorf("%d bytes: the file was changed", size)
		}
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

func TestFlippedBytes(t *testing.T) {
	oneAtATime(t)
	raw := filled(t)
	page := os.Getpagesize()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 80 {
		bad := append([]byte(nil), raw...)
		first := 2 * page
		for range 1 + rng.IntN(4) {
			bad[first+rng.IntN(len(bad)-first)] ^= byte(1 + rng.IntN(255))
		}
		// Some are in pages that nothing uses; what counts is that it comes back, and that an error says that the file
		// is damaged.
		err := use(t, damagedCopy(t, bad))
		var damaged *DamagedError
		if err != nil && !errors.As(err, &damaged) {
			t.Errorf("got %v, want a DamagedError", err)
		}
	}
}

func TestPageHeadersOverwritten(t *testing.T) {
	oneAtATime(t)
	raw := filled(t)
	page := os.Getpagesize()
	for n := 2; n < len(raw)/page; n++ {
		bad := append([]byte(nil), raw...)
		for i := range 64 {
			bad[n*page+i] = 0xff
		}
		err := use(t, damagedCopy(t, bad))
		var damaged *DamagedError
		if err != nil && !errors.As(err, &damaged) {
			t.Errorf("page %d: got %v, want a DamagedError", n, err)
		}
	}
}

func TestAFlippedBitIsNeverAnotherTime(t *testing.T) {
	path := newPath(t)
	s := open(t, path)
	fill(t, s, pool, 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bad := strings.ReplaceAll(string(raw), `"median":0.25`, `"median":0.15`)
	if bad == string(raw) {
		t.Fatal("the time is not in the file as this test expects it")
	}
	damagedPath := damagedCopy(t, []byte(bad))
	s = open(t, damagedPath)
	var damaged *DamagedError
	if got, err := s.Trials(pool, nil); !errors.As(err, &damaged) {
		t.Errorf("got %v, %v; want a DamagedError", got, err)
	}
	issues, err := s.Check(t.Context())
	if err != nil || len(issues) != 1 || !strings.Contains(issues[0].Message, "checksum") {
		t.Errorf("check gives %v, %v", issues, err)
	}
}

func TestCheckFindsMisplacedValues(t *testing.T) {
	s := open(t, newPath(t))
	fill(t, s, pool, 2)
	other := pool
	other.Device = "NVIDIA A100"
	raw, err := encode(Winner{Problem: other})
	if err != nil {
		t.Fatal(err)
	}
	misplaced, err := encode(sample(7))
	if err != nil {
		t.Fatal(err)
	}
	err = s.update(func(tx *bbolt.Tx) error {
		problem := bucketOf(tx, pool)
		return errors.Join(problem.Put(winnerKey, raw), problem.Bucket(trialsBucket).Put([]byte("here"), misplaced))
	})
	if err != nil {
		t.Fatal(err)
	}
	issues, err := s.Check(t.Context())
	if err != nil || len(issues) != 2 {
		t.Errorf("got %v, %v; want two issues", issues, err)
	}
}

// Buckets in places that autotune never gives them are issues, and are not followed: what looks like a bucket may be a
// value with a flipped bit.
func TestCheckFindsMisplacedBuckets(t *testing.T) {
	id, err := pool.key()
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]func(tx *bbolt.Tx) error{
		"at the top": func(tx *bbolt.Tx) error {
			_, err := tx.CreateBucket([]byte("stray"))
			return err
		},
		"no problem's name": func(tx *bbolt.Tx) error {
			_, err := tx.Bucket(problemsBucket).CreateBucket([]byte("stray"))
			return err
		},
		"among the trials": func(tx *bbolt.Tx) error {
			_, err := tx.Bucket(problemsBucket).Bucket(id).Bucket(trialsBucket).CreateBucket([]byte("stray"))
			return err
		},
		"a value for a problem": func(tx *bbolt.Tx) error {
			return tx.Bucket(problemsBucket).Put([]byte("a\x00b\x00c"), []byte("value"))
		},
		"a value for the trials": func(tx *bbolt.Tx) error {
			problem := tx.Bucket(problemsBucket).Bucket(id)
			return errors.Join(problem.DeleteBucket(trialsBucket), problem.Put(trialsBucket, []byte("value")))
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			s := open(t, newPath(t))
			fill(t, s, pool, 2)
			if err := s.update(change); err != nil {
				t.Fatal(err)
			}
			if issues, err := s.Check(t.Context()); err != nil || len(issues) != 1 {
				t.Errorf("got %v, %v; want one issue", issues, err)
			}
		})
	}
}
