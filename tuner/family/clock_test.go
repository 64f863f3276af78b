package family

import (
	"testing"
	"time"
)

// Searches share what a budget leaves beside the timings, and no more than asked for.
func TestClock(t *testing.T) {
	start := time.Now().Add(-10 * time.Second)
	c := clock{started: start, budget: 100 * time.Second, left: map[kind]int{searches: 30, timings: 10}, last: start}
	if got := c.search(time.Minute); got > 1900*time.Millisecond || got < 1800*time.Millisecond {
		t.Errorf("%v, want two thirds of 100 s less 10 s for 30 searches", got)
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

// Where searches take more than their share, as many are made as the budget reaches for, spread over
// all. Those of samples' own bests are made last, with what is left.
func TestClockAffords(t *testing.T) {
	for _, want := range []struct{ budget, each, searches, owns time.Duration }{
		{0, 5, 40, 20}, {1000, 2, 40, 20}, {150, 2, 40, 10}, {60, 2, 20, 0}, {12, 2, 4, 0},
	} {
		c := clock{budget: want.budget * time.Second, left: map[kind]int{searches: 40, owns: 20}}
		var made [3]time.Duration
		gap, longest := 0, 0
		for _, of := range []kind{searches, owns} {
			for c.left[of] > 0 {
				used := (made[searches] + made[owns]) * want.each * time.Second
				c.started = time.Now().Add(-used)
				if gap++; c.affords(of) {
					longest, gap = max(longest, gap), 0
					made[of]++
					c.spent[of] += want.each * time.Second
					c.made[of]++
				}
				c.left[of]--
			}
			if n := made[searches]; n != want.searches && (n < want.searches-1 || n > want.searches+1) {
				t.Errorf("%+v: %d searches", want, n)
			}
			if longest > 41/int(want.searches)+2 {
				t.Errorf("%+v: %d searches side by side were left out", want, longest)
			}
			longest = 0
		}
		if n := made[owns]; n < want.owns-1 || n > want.owns+1 {
			t.Errorf("%+v: %d own searches", want, n)
		}
	}
}

func TestBetterScore(t *testing.T) {
	for _, c := range []struct {
		a, b Score
		want bool
	}{
		{Score{Worst: 1.3, Mean: 1.0}, Score{Worst: 1.2, Mean: 1.1}, true},
		{Score{Worst: 1.2, Mean: 1.1}, Score{Worst: 1.3, Mean: 1.0}, false},
		{Score{Worst: 1.2, Mean: 1.202}, Score{Worst: 1.3, Mean: 1.2}, true}, // as slow in the mean
		{Score{Worst: 1.2, Mean: 1.02}, Score{Worst: 1.2, Mean: 1.02}, false},
	} {
		if got := c.a.before(c.b); got != c.want {
			t.Errorf("%v before %v: %v", c.a, c.b, got)
		}
	}
}
