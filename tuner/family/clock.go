package family

import (
	"time"
)

// kind is what a step is: a search, one for a sample's own best, or the timing of a shape.
type kind int

const (
	searches kind = iota
	owns
	timings
)

// clock divides the time of a family among its steps.
type clock struct {
	started time.Time
	budget  time.Duration // 0: no limit
	left    map[kind]int  // steps
	done    int
	spent   [3]time.Duration // on steps that were not known
	made    [3]int
	last    time.Time
	credit  float64 // part of a search that the budget reaches for
}

// The shortest search, and the part of the budget that timing shapes keeps.
const (
	leastSearch = 500 * time.Millisecond
	forTimings  = 3 // the share is one in so many
)

// remaining is what is left of the budget.
func (c *clock) remaining() time.Duration { return max(0, c.budget-time.Since(c.started)) }

// steps are those left.
func (c *clock) steps() int { return c.left[searches] + c.left[owns] + c.left[timings] }

// share is what each of some searches may take of what the timings leave.
func (c *clock) share(among int) time.Duration {
	return max(0, c.remaining()-c.budget/forTimings) / time.Duration(max(1, among))
}

// affords tells whether the budget reaches for the next search of a kind. A search takes more than
// its share at times: to open a shape, to compile, to make sure of the winner. Where searches took
// more so far, some are left out, evenly among those that are left.
func (c *clock) affords(of kind) bool {
	made := c.made[searches] + c.made[owns]
	if c.budget <= 0 || made == 0 {
		return true
	}
	each := (c.spent[searches] + c.spent[owns]) / time.Duration(made)
	c.credit += min(1, float64(c.share(c.left[of]))/float64(max(each, 1)))
	if c.credit < 1 {
		return false
	}
	c.credit--
	return true
}

// search is how long the next search may take: the most, or its share of the budget.
func (c *clock) search(most time.Duration) time.Duration {
	if c.budget <= 0 {
		return most
	}
	share := c.share(c.left[searches] + c.left[owns])
	if most > 0 {
		share = min(share, most)
	}
	return max(share, leastSearch)
}

// did counts a step.
func (c *clock) did(k kind, known bool) {
	c.left[k] = max(0, c.left[k]-1)
	c.done++
	now := time.Now()
	since := c.last
	if since.IsZero() {
		since = c.started
	}
	c.last = now
	if !known {
		c.spent[k] += now.Sub(since)
		c.made[k]++
	}
}

// eta is how long the steps left take if they go on as before; 0: not known. Timing a shape is
// taken to last as long as a search until one was timed.
func (c *clock) eta() (all time.Duration) {
	for k, n := range c.left {
		from := k
		if c.made[k] == 0 {
			from = searches
		}
		if c.made[from] > 0 {
			all += c.spent[from] / time.Duration(c.made[from]) * time.Duration(n)
		}
	}
	return all
}
