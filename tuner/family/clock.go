package family

import (
	"time"
)

// kind is what a step is.
type kind int

const (
	searches kind = iota // of samples, for kernels that take the free dimensions, and of shapes that are held out
	owns                 // searches for samples' own best
	timings
	kinds
)

// clock divides the time of a family among its steps.
type clock struct {
	started time.Time
	budget  time.Duration // 0: no limit
	left    [kinds]int    // steps
	done    int
	spent   [kinds]time.Duration // on steps that were not known
	made    [kinds]int
	last    time.Time
}

// The shortest search, and the part of the budget that is kept for what comes after the searches.
const (
	leastSearch = 500 * time.Millisecond
	forTimings  = 0.4
)

// remaining is what is left of the budget.
func (c *clock) remaining() time.Duration { return max(0, c.budget-time.Since(c.started)) }

// steps are those left.
func (c *clock) steps() (n int) {
	for _, left := range c.left {
		n += left
	}
	return n
}

// searching is what is left of the budget for searches.
func (c *clock) searching() time.Duration {
	return max(0, c.remaining()-time.Duration(forTimings*float64(c.budget)))
}

// affords tells whether the budget reaches for the next step. A search takes more than its share at times: to open a
// shape, to compile, to make sure of the winner. Then there is no time for the last ones. What was searched is spread
// over the range all the same, since any first samples are.
func (c *clock) affords(of kind) bool {
	return c.budget <= 0 || of == timings || c.made[searches]+c.made[owns] == 0 || c.searching() > 0
}

// search is how long the next search may take: the most, or its share of the budget.
func (c *clock) search(of kind, most time.Duration) time.Duration {
	if c.budget <= 0 {
		return most
	}
	share := c.searching() / time.Duration(max(1, c.left[of]))
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

// eta is how long the steps left take if they go on as before; 0: not known. A kind of which none was made
// is taken to last as long as a search.
func (c *clock) eta() (all time.Duration) {
	for k, n := range c.left {
		from := kind(k)
		if c.made[from] == 0 {
			from = searches
		}
		if c.made[from] > 0 {
			all += c.spent[from] / time.Duration(c.made[from]) * time.Duration(n)
		}
	}
	return all
}
