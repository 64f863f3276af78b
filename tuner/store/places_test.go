package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"autotune/internal/test/endurance"
	"autotune/internal/test/must"
)

// Where bbolt's pages have what these tests damage.
const (
	pageHeader        = 16 // before the entries
	pageFlagsAt       = 8
	branchPage        = 1
	entrySize         = 16
	idSize            = 8
	metaStart         = 16 // after the page's header
	metaFreeAt        = 32
	metaTransactionAt = 48
)

// grown is a cache as searches leave it: written in many transactions, so that it has free pages and a list of them.
func grown(t *testing.T) []byte {
	t.Helper()
	return bytesOf(t, func(s *Store) {
		for i := range 60 {
			must.OK(t, s.PutTrials(pool, []Entry{sample(2 * i), sample(2*i + 1)}))
		}
		must.OK(t, s.PutWinner(pool, Winner{TimeMS: 1, Problem: pool}))
	})
}

// damage cuts a copy of a file every fourth time, and else changes a byte of it: anywhere, in a page's head, or in the
// list of free pages. It says how.
func damage(raw []byte, rng *rand.Rand, n int) (bad []byte, what string) {
	at := rng.IntN(len(raw))
	switch n % 8 {
	case 0, 4:
		return bytes.Clone(raw[:at]), fmt.Sprintf("cut after %d of %d bytes", at, len(raw))
	case 1, 5:
		at = min(at/os.Getpagesize()*os.Getpagesize()+rng.IntN(80), len(raw)-1)
	case 2:
		at = int(freePages(raw))*os.Getpagesize() + pageHeader + idSize*rng.IntN(8)
	}
	bad = bytes.Clone(raw)
	bad[at] ^= byte(1 << rng.IntN(8))
	return bad, fmt.Sprintf("byte %d is %#x instead of %#x", at, bad[at], raw[at])
}

// freePages is the page with the list of free ones.
func freePages(raw []byte) uint64 {
	newest := func(page int) []byte { return raw[page*os.Getpagesize()+metaStart:] }
	m := newest(0)
	if other := newest(1); binary.LittleEndian.Uint64(other[metaTransactionAt:]) > binary.LittleEndian.Uint64(m[metaTransactionAt:]) {
		m = other
	}
	return binary.LittleEndian.Uint64(m[metaFreeAt:])
}

// An entry of a page may claim to lie anywhere, also where no cursor reads the key, as on branch pages. A place that is
// not in memory would end the program.
func TestEntriesOutsideOfTheirPage(t *testing.T) {
	raw, found := grown(t), 0
	for at := 2 * os.Getpagesize(); at < len(raw); at += os.Getpagesize() {
		if flags := binary.LittleEndian.Uint16(raw[at+pageFlagsAt:]); flags != branchPage {
			continue
		}
		for word := range 2 { // the place and the length of a key
			for n := range 2 {
				bad := bytes.Clone(raw)
				bad[at+pageHeader+n*entrySize+4*word+3] = 1 // 16 MB more
				issues, err := CheckFile(t.Context(), damagedCopy(t, bad))
				if err != nil {
					t.Errorf("page %d, entry %d: %v", at/os.Getpagesize(), n, err)
				}
				found += min(1, len(issues))
			}
		}
	}
	if found == 0 {
		t.Error("no issue is found")
	}
}

// Wherever a file is damaged, to write into it costs no trial that was whole. A file that was cut or has flipped bytes
// comes back with an error, or works.
func TestWritingIntoADamagedFile(t *testing.T) {
	raw := grown(t)
	rng := rand.New(rand.NewPCG(11, 12))
	for n := range endurance.Times(8, 500) {
		bad, what := damage(raw, rng, n)
		path := damagedCopy(t, bad)
		before, _ := saved(t, path)
		err := errors.Join(use(t, path), write(t, path))
		var damaged *DamagedError
		var foreign *ForeignError
		if err != nil && !errors.As(err, &damaged) && !errors.As(err, &foreign) {
			t.Errorf("%s: got %v, want a DamagedError", what, err)
		}
		after, _ := saved(t, path)
		for key := range before {
			if !after[key] {
				t.Errorf("%s: the trial %s is lost by writing: %v", what, key, err)
			}
		}
	}
}

// A page in use that is listed as free would be the next to be written over.
func TestDamagedListOfFreePages(t *testing.T) {
	raw := grown(t)
	list := raw[int(freePages(raw))*os.Getpagesize():]
	n := int(binary.LittleEndian.Uint16(list[10:]))
	if n < 3 {
		t.Fatalf("%d pages are free", n)
	}
	for _, page := range []uint64{0, freePages(raw), 1 << 40, binary.LittleEndian.Uint64(list[pageHeader+idSize:])} {
		bad := bytes.Clone(raw)
		binary.LittleEndian.PutUint64(bad[int(freePages(raw))*os.Getpagesize()+pageHeader:], page)
		path := damagedCopy(t, bad)
		var damaged *DamagedError
		if err := open(t, path).PutTrials(pool, []Entry{sample(1000)}); !errors.As(err, &damaged) {
			t.Errorf("page %d listed as free: got %v, want a DamagedError", page, err)
		}
		if s, err := Open(t.Context(), path, Options{ReadOnly: true}); err != nil || len(mustTrials(t, s, pool)) != 120 {
			t.Errorf("page %d listed as free: it cannot be read: %v", page, err)
		}
	}
}

// write puts trials into a file, many times.
func write(t *testing.T, path string) error {
	s, err := Open(t.Context(), path, Options{Wait: -1})
	if err != nil {
		return err
	}
	for i := range 20 {
		err = errors.Join(err, s.PutTrials(pool, []Entry{sample(2000 + i)}))
	}
	return errors.Join(err, s.Close())
}
