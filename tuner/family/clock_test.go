package family

import (
	"testing"
	"time"
)

// Searches share what a budget leaves beside the timings, and no more than asked for.
func TestClock(t *testing.T) {
	start := time.Now().Add(-10 * time.Second)
	var said Progress
	say := func(p Progress) { said = p }
	c := clock{started: start, budget: 100 * time.Second, say: say, left: [kinds]int{searches: 50, timings: 10}}
	if got := c.search(searches, time.Minute); got > 1050*time.Millisecond || got < 950*time.Millisecond {
		t.Errorf("%v, want 60 s less 10 s for 50 searches", got)
	}
	if got := c.search(searches, 600*time.Millisecond); got != 600*time.Millisecond {
		t.Errorf("%v, want no more than asked for", got)
	}
	c.step(searches, "searched", false)
	c.step(searches, "searched", true) // known from before: it took no time
	if want := 580 * time.Second; (said.Left-want).Abs() > 5*time.Second || said.Done != 2 || said.Of != 60 {
		t.Errorf("%+v, want %s", said, want)
	}
	late := clock{started: start, budget: time.Second, left: [kinds]int{searches: 3}}
	if got := late.search(searches, time.Minute); got != policy.leastSearch {
		t.Errorf("%v, want the least, since the budget is spent", got)
	}
	if got := (&clock{started: start, left: [kinds]int{searches: 3}}).search(searches, 3*time.Second); got != 3*time.Second {
		t.Errorf("%v without a budget", got)
	}
}

// Where searches take more than their share, the last are left out.
func TestClockAffords(t *testing.T) {
	for _, want := range []struct {
		budget, each   time.Duration
		searches, owns int
	}{
		{0, 5, 40, 20}, {1000, 2, 40, 20}, {100, 2, 30, 0}, {150, 2, 40, 5}, {1, 2, 1, 0},
	} {
		c := clock{budget: want.budget * time.Second}
		for of, n := range []int{searches: 40, owns: 20} {
			for range n {
				c.started = time.Now().Add(-want.each * time.Second * time.Duration(c.made[searches]+c.made[owns]))
				if c.affords() {
					c.made[of]++
				}
			}
		}
		if c.made[searches] != want.searches || c.made[owns] != want.owns {
			t.Errorf("%+v: %d and %d", want, c.made[searches], c.made[owns])
		}
	}
}
