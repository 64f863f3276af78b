package family

import (
	"testing"
	"time"
)

// Searches share what a budget leaves beside the timings, and no more than asked for.
func TestClock(t *testing.T) {
	start := time.Now().Add(-10 * time.Second)
	c := clock{started: start, budget: 100 * time.Second, left: [kinds]int{searches: 30, timings: 10}, last: start}
	if got := c.search(time.Minute); got > 1050*time.Millisecond || got < 950*time.Millisecond {
		t.Errorf("%v, want 40 s less 10 s for 30 searches", got)
	}
	if got := c.search(600 * time.Millisecond); got != 600*time.Millisecond {
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
	late := clock{started: start, budget: time.Second, left: [kinds]int{searches: 3}}
	if got := late.search(time.Minute); got != leastSearch {
		t.Errorf("%v, want the least, since the budget is spent", got)
	}
	free := clock{started: start, left: [kinds]int{searches: 3}}
	if got := free.search(3 * time.Second); got != 3*time.Second || free.eta() != 0 {
		t.Errorf("%v and %v without a budget", got, free.eta())
	}
}

// Where searches take more than their share, three tenths of the samples' are made, spread over all. Then come those of
// shapes that are held out, then the others of samples. There are none of samples' own bests.
func TestClockAffords(t *testing.T) {
	for _, want := range []struct {
		budget, each          time.Duration
		searches, tests, owns int
	}{
		{0, 5, 40, 20, 20}, {1000, 2, 40, 20, 0}, {240, 2, 28, 20, 0}, {100, 2, 12, 8, 0}, {60, 2, 12, 0, 0},
	} {
		c := clock{budget: want.budget * time.Second, left: [kinds]int{searches: 40, tests: 20, owns: 20}}
		gap, longest := 0, 0
		step := func(of kind) {
			c.started = time.Now().Add(-(c.spent[searches] + c.spent[tests] + c.spent[owns]))
			affords := c.affords(of)
			if c.left[of]--; affords {
				c.made[of]++
				c.spent[of] += want.each * time.Second
			}
			if of != searches {
				return
			}
			if gap++; affords {
				longest, gap = max(longest, gap), 0
			}
		}
		for range 20 {
			step(searches)
			step(tests)
			step(searches)
		}
		for range 20 {
			step(owns)
		}
		for of, n := range map[kind]int{searches: want.searches, tests: want.tests, owns: want.owns} {
			if c.made[of] < n-1 || c.made[of] > n+1 {
				t.Errorf("%+v: %d of kind %d", want, c.made[of], of)
			}
		}
		if longest > 40/want.searches+2 {
			t.Errorf("%+v: %d searches side by side were left out", want, longest)
		}
	}
}

// Probes leave a part of the budget to what comes after them.
func TestProbesEnd(t *testing.T) {
	c := clock{budget: 100 * time.Second, started: time.Now().Add(-50 * time.Second)}
	if !c.affords(probes) || !c.affords(timings) {
		t.Error("half of the budget is left")
	}
	if c.started = time.Now().Add(-85 * time.Second); c.affords(probes) || !c.affords(timings) {
		t.Error("less than a fifth of the budget is left, which is for the entries")
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
