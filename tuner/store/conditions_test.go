package store

import (
	"testing"

	"autotune/device"
)

// Each conditions have trials and a winner of their own.
func TestConditionsAreApart(t *testing.T) {
	path := newPath(t)
	s := open(t, path)
	ids := []ProblemID{pool}
	for _, c := range []device.Conditions{{L2: device.Warm}, {Launch: device.Graph}, {L2: device.Warm, Launch: device.Graph}} {
		id := pool
		id.Conditions = c
		ids = append(ids, id)
	}
	for i, id := range ids {
		fill(t, s, id, i+1)
		must(t, s.PutWinner(id, Winner{TimeMS: float64(i + 1)}))
	}
	for i, id := range ids {
		w, found, err := s.Winner(id)
		if n := len(mustTrials(t, s, id)); n != i+1 || !found || err != nil || w.TimeMS != float64(i+1) || w.Problem != id {
			t.Errorf("%s: %d trials, winner %+v, %v", id, n, w, err)
		}
	}
	all, err := s.Problems()
	if err != nil || len(all) != len(ids) {
		t.Errorf("problems %+v, %v", all, err)
	}
	mustBeSound(t, s)
}

func TestKeyNamesConditions(t *testing.T) {
	for _, key := range []string{"cuda\x00H100\x00p\x00\x00", "cuda\x00H100\x00p\x00tepid\x00", "cuda\x00H100\x00p\x00warm", "cuda\x00H100"} {
		if id, err := parseKey([]byte(key)); err == nil {
			t.Errorf("%q is read as %+v", key, id)
		}
	}
}
