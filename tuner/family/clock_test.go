package family

import (
	"testing"
	"time"
)

// Searches share what a budget leaves beside the timings, and no more than asked for.
func TestClock(t *testing.T) {
	start := time.Now().Add(-10 * time.Second)
	var said Progress
	c := clock{started: start, budget: 100 * time.Second, say: func(p Progress) { said = p }, searches: 50, timings: 10}
	if got := c.search(time.Minute); got > 1050*time.Millisecond || got < 950*time.Millisecond {
		t.Errorf("%v, want 60 s less 10 s for 50 searches", got)
	}
	if got := c.search(600 * time.Millisecond); got != 600*time.Millisecond {
		t.Errorf("%v, want no more than asked for", got)
	}
	c.searched("searched", false)
	c.searched("searched", true) // known from before: it took no time
	if want := 580 * time.Second; (said.Left-want).Abs() > 5*time.Second || said.Done != 2 || said.Of != 60 {
		t.Errorf("%+v, want %s", said, want)
	}
	late := clock{started: start, budget: time.Second, searches: 3}
	if got := late.search(time.Minute); got != policy.leastSearch || !late.affords() {
		t.Errorf("%v, want the least, since the budget is spent", got)
	}
	if late.made = 1; late.affords() {
		t.Error("a search is afforded when the budget is spent")
	}
	if got := (&clock{started: start, searches: 3}).search(3 * time.Second); got != 3*time.Second {
		t.Errorf("%v without a budget", got)
	}
}
