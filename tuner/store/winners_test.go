package store

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"go.etcd.io/bbolt"
)

// Of each operator's sources the last winner is kept, and the last of all is the problem's.
func TestWinnersOfOtherSourcesAreKept(t *testing.T) {
	s := open(t, newPath(t))
	last := map[string]float64{}
	for i, sources := range []string{"", "a", "b", "a", "a", "b", "", "c", "b"} {
		w := Winner{Sources: sources, TimeMS: float64(i + 1)}
		must(t, s.PutWinner(pool, w))
		last[sources] = w.TimeMS
		if got, found, err := s.Winner(pool); err != nil || !found || got.TimeMS != w.TimeMS {
			t.Fatalf("the problem's winner is %+v, %v", got, err)
		}
		all, err := s.Winners("max_pool2d", "", true)
		if err != nil || len(all) != len(last) {
			t.Fatalf("kept %+v, %v; want %v", all, err, last)
		}
		for _, w := range all {
			if w.TimeMS != last[w.Sources] {
				t.Errorf("of %q %v is kept, want %v", w.Sources, w.TimeMS, last[w.Sources])
			}
		}
		mustBeSound(t, s)
	}
	if other, err := s.Winners("conv2d", "", true); err != nil || len(other) > 0 {
		t.Errorf("of another operator %+v, %v", other, err)
	}
}

// A winner that lies where another belongs is found.
func TestCheckLooksAtWinnersSetAside(t *testing.T) {
	s := open(t, newPath(t))
	for _, sources := range []string{"a", "b"} {
		must(t, s.PutWinner(pool, Winner{Sources: sources, TimeMS: 1}))
	}
	err := s.update(func(tx *bbolt.Tx) error {
		aside := bucketOf(tx, pool).Bucket(asideBucket)
		return cmp.Or(aside.Put([]byte("c"), slices.Clone(aside.Get([]byte("a")))), aside.Put([]byte("d"), []byte("damage")))
	})
	must(t, err)
	issues, err := s.Check(t.Context())
	if err != nil || len(issues) != 2 || issues[0].Key != "aside c" || issues[1].Key != "aside d" {
		t.Errorf("got %v, %v", fmt.Sprint(issues), err)
	}
}
