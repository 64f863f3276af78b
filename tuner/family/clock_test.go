package family

import (
	"testing"
	"time"
)

// Searches share what a budget leaves beside the timings, and no more than asked for.
func TestClock(t *testing.T) {
	start := time.Now().Add(-10 * time.Second)
	c := clock{started: start, budget: 100 * time.Second, left: [kinds]int{searches: 50, timings: 10}, last: start}
	if got := c.search(searches, time.Minute); got > 1050*time.Millisecond || got < 950*time.Millisecond {
		t.Errorf("%v, want 60 s less 10 s for 50 searches", got)
	}
	if got := c.search(searches, 600*time.Millisecond); got != 600*time.Millisecond {
		t.Errorf("%v, want no more than asked for", got)
	}
	c.did(searches, false)
	if eta := c.eta(); eta < 580*time.Second || eta > 600*time.Second {
		t.Errorf("%v, want 59 steps of 10 s", eta)
	}
	c.did(searches, true) // known from before: it took no time
	if eta := c.eta(); c.left[searches] != 48 || eta < 570*time.Second || eta > 590*time.Second {
		t.Errorf("%v with %d searches left", eta, c.left[searches])
	}
	late := clock{started: start, budget: time.Second, left: [kinds]int{searches: 3}}
	if got := late.search(searches, time.Minute); got != leastSearch {
		t.Errorf("%v, want the least, since the budget is spent", got)
	}
	free := clock{started: start, left: [kinds]int{searches: 3}}
	if got := free.search(searches, 3*time.Second); got != 3*time.Second || free.eta() != 0 {
		t.Errorf("%v and %v without a budget", got, free.eta())
	}
}

// Where searches take more than their share, the last are left out. Timings never are.
func TestClockAffords(t *testing.T) {
	for _, want := range []struct {
		budget, each   time.Duration
		searches, owns int
	}{
		{0, 5, 40, 20}, {1000, 2, 40, 20}, {100, 2, 30, 0}, {150, 2, 40, 5}, {1, 2, 1, 0},
	} {
		c := clock{budget: want.budget * time.Second, left: [kinds]int{searches: 40, owns: 20, timings: 30}}
		for _, of := range []kind{searches, owns} {
			for c.left[of] > 0 {
				c.started = time.Now().Add(-(c.spent[searches] + c.spent[owns]))
				affords := c.affords(of)
				if c.left[of]--; affords {
					c.made[of]++
					c.spent[of] += want.each * time.Second
				}
			}
		}
		if c.made[searches] != want.searches || c.made[owns] != want.owns || !c.affords(timings) {
			t.Errorf("%+v: %d and %d", want, c.made[searches], c.made[owns])
		}
	}
}
