package store

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// mended repairs bytes and returns the trials that came out. It sees that all of them are as stored, that the new file
// is sound and the old one as it was. Bytes that hold no root give nothing.
func mended(t *testing.T, raw []byte) (n int, issues []Issue) {
	t.Helper()
	path, to := damagedCopy(t, raw), filepath.Join(t.TempDir(), "mended.db")
	tally, issues, err := Repair(t.Context(), path, to)
	if after, _ := os.ReadFile(path); !bytes.Equal(after, raw) {
		t.Fatal("the damaged file was changed")
	}
	if err != nil {
		if left, _ := os.ReadDir(filepath.Dir(to)); len(left) > 0 {
			t.Errorf("%v, and %v is left", err, left)
		}
		return 0, append(issues, Issue{Message: err.Error()})
	}
	s := open(t, to)
	mustBeSound(t, s)
	problems, err := s.Problems()
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, p := range problems {
		for key, got := range mustTrials(t, s, p.ProblemID) {
			total++
			if want := sample(int(got.Time.Median)); want.Provenance.Key() != key || !reflect.DeepEqual(got, want.Trial) {
				t.Errorf("%s became %+v", key, got)
			}
		}
	}
	if total != tally.Trials {
		t.Errorf("says %d trials, copied %d", tally.Trials, total)
	}
	return total, issues
}

func TestRepairCopiesASoundFile(t *testing.T) {
	if n, issues := mended(t, filled(t)); n != 200 || len(issues) > 0 {
		t.Errorf("copied %d of 200 trials, %v", n, issues)
	}
}

// One byte costs at most the page that it lies in, and is told if it costs anything. The pages above the trials are the
// exception: they cost all below.
func TestRepairOfFlippedBytes(t *testing.T) {
	oneAtATime(t)
	raw := filled(t)
	rng := rand.New(rand.NewPCG(3, 4))
	most := 0
	for range 30 {
		bad := bytes.Clone(raw)
		bad[rng.IntN(len(bad))] ^= byte(1 + rng.IntN(255))
		n, issues := mended(t, bad)
		if n < 200 && len(issues) == 0 {
			t.Fatal("trials are lost and nothing is told")
		}
		if n >= 190 {
			most++
		}
	}
	if most < 27 {
		t.Errorf("%d of 30 files gave back nearly all of their trials, want 27", most)
	}
}

func TestRepairOfCutFiles(t *testing.T) {
	raw := filled(t)
	rng := rand.New(rand.NewPCG(5, 6))
	for range 30 {
		size := rng.IntN(len(raw))
		if n, issues := mended(t, raw[:size]); n < 200 && len(issues) == 0 {
			t.Errorf("%d of %d bytes: trials are lost and nothing is told", size, len(raw))
		}
	}
}

func TestRepairOfManyFaults(t *testing.T) {
	oneAtATime(t)
	raw := filled(t)
	rng := rand.New(rand.NewPCG(7, 8))
	for range 20 {
		bad := bytes.Clone(raw)
		for range 1 + rng.IntN(200) {
			bad[rng.IntN(len(bad))] ^= byte(1 + rng.IntN(255))
		}
		mended(t, bad)
	}
}

func TestRepairReplacesNothing(t *testing.T) {
	path := damagedCopy(t, filled(t))
	if _, _, err := Repair(t.Context(), path, path); err == nil {
		t.Error("it repaired a file into itself")
	}
	var absent *AbsentError
	if _, _, err := Repair(t.Context(), path+"x", path+"y"); !errors.As(err, &absent) {
		t.Errorf("got %v, want an AbsentError", err)
	}
	var foreign *ForeignError
	if _, _, err := Repair(t.Context(), damagedCopy(t, bytes.Repeat([]byte("text "), 9000)), path+"z"); !errors.As(err, &foreign) {
		t.Errorf("got %v, want a ForeignError", err)
	}
}
