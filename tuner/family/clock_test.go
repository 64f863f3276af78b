package family

import (
	"testing"
	"time"
)

// Searches share what a budget leaves beside the timings, and no more than asked for.
func TestClock(t *testing.T) {
	start := time.Now().Add(-10 * time.Second)
	c := clock{started: start, budget: 100 * time.Second, left: map[kind]int{searches: 30, timings: 10}, last: start}
	if got := c.search(time.Minute); got > 2*time.Second || got < 1900*time.Millisecond {
		t.Errorf("%v, want two thirds of 90 s for 30 searches", got)
	}
	if got := c.search(time.Second); got != time.Second {
		t.Errorf("%v, want no more than asked for", got)
	}
	c.did(searches, false)
	if eta := c.eta(); eta < 380*time.Second || eta > 400*time.Second {
		t.Errorf("%v, want 39 steps of 10 s", eta)
	}
	c.did(searches, true) // known from before: it took no time
	if eta := c.eta(); c.left[searches] != 28 || eta < 370*time.Second || eta > 390*time.Second {
		t.Errorf("%v with %d searches left", eta, c.left[searches])
	}
	late := clock{started: start, budget: time.Second, left: map[kind]int{searches: 3}}
	if got := late.search(time.Minute); got != leastSearch {
		t.Errorf("%v, want the least, since the budget is spent", got)
	}
	free := clock{started: start, left: map[kind]int{searches: 3}}
	if got := free.search(3 * time.Second); got != 3*time.Second || free.eta() != 0 {
		t.Errorf("%v and %v without a budget", got, free.eta())
	}
}

func TestBetterScore(t *testing.T) {
	for _, c := range []struct {
		a, b Score
		want bool
	}{
		{Score{Worst: 1.2, Mean: 1.1}, Score{Worst: 1.3, Mean: 1.0}, true},
		{Score{Worst: 1.3, Mean: 1.0}, Score{Worst: 1.2, Mean: 1.1}, false},
		{Score{Worst: 1.205, Mean: 1.01}, Score{Worst: 1.2, Mean: 1.02}, true}, // as slow at worst
		{Score{Worst: 1.2, Mean: 1.02}, Score{Worst: 1.2, Mean: 1.02}, false},
	} {
		if got := c.a.before(c.b); got != c.want {
			t.Errorf("%v before %v: %v", c.a, c.b, got)
		}
	}
}
