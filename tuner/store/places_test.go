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

// The constants are offsets and sizes in the pages of a bbolt file, where the tests damage it.
const (
	pageHeader        = 16 // size of a page's header
	pageFlagsAt       = 8
	branchPage        = 1
	entrySize         = 16
	idSize            = 8
	metaStart         = 16 // offset after the page's header
	metaFreeAt        = 32
	metaTransactionAt = 48
)

// grown returns the bytes of a cache that was written in many transactions, so that it has a list of free pages.
func grown(t *testing.T) []byte {
	t.Helper()
	return bytesOf(t, func(s *Store) {
		for i := range 60 {
			must.OK(t, s.PutTrials(pool, []Entry{sample(2 * i), sample(2*i + 1)}))
		}
		must.OK(t, s.PutWinner(pool, Winner{TimeMS: 1, Problem: pool}))
	})
}

// damage returns a damaged copy of a file, and a description of the damage. Every fourth copy is truncated; in the
// other copies one byte is changed: anywhere in the file, in the header of a page, or in the list of free pages.
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

// freePages returns the number of the page in which bbolt stores the list of free pages.
func freePages(raw []byte) uint64 {
	newest := func(page int) []byte { return raw[page*os.Getpagesize()+metaStart:] }
	m := newest(0)
	if other := newest(1); binary.LittleEndian.Uint64(other[metaTransactionAt:]) > binary.LittleEndian.Uint64(m[metaTransactionAt:]) {
		m = other
	}
	return binary.LittleEndian.Uint64(m[metaFreeAt:])
}

// In a damaged file, an entry's offset may point outside its page, even on a branch page, whose keys no cursor reads.
// Reading beyond the end of the memory-mapped file would crash the program.
func TestEntriesOutsideOfTheirPage(t *testing.T) {
	raw, found := grown(t), 0
	for at := 2 * os.Getpagesize(); at < len(raw); at += os.Getpagesize() {
		if flags := binary.LittleEndian.Uint16(raw[at+pageFlagsAt:]); flags != branchPage {
			continue
		}
		for word := range 2 { // the offset and the length of a key
			for n := range 2 {
				bad := bytes.Clone(raw)
				bad[at+pageHeader+n*entrySize+4*word+3] = 1 // adds 16 MB
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

// Writing to a damaged file loses no intact trial, wherever the damage is. A file that was truncated or has flipped
// bits either works or causes an error.
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

// A page that is in use but listed as free would be overwritten by the next write.
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

// write stores trials in a file in several transactions.
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
