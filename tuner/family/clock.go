package family

import (
	"time"
)

// kind is what a step is: a search, or the timing of a shape.
type kind int

const (
	searches kind = iota
	timings
)

// clock divides the time of a family among its steps.
type clock struct {
	started time.Time
	budget  time.Duration // 0: no limit
	left    map[kind]int  // steps
	done    int
	spent   [2]time.Duration // on steps that were not known
	made    [2]int
	last    time.Time
}

// The shortest search, and the part of the time left that timing shapes keeps.
const (
	leastSearch = 500 * time.Millisecond
	forTimings  = 3 // the share is one in so many
)

// remaining is what is left of the budget.
func (c *clock) remaining() time.Duration { return max(0, c.budget-time.Since(c.started)) }

// search is how long the next search may take: the most, or its share of the budget.
func (c *clock) search(most time.Duration) time.Duration {
	if c.budget <= 0 {
		return most
	}
	share := c.remaining() * (forTimings - 1) / forTimings / time.Duration(max(1, c.left[searches]))
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
