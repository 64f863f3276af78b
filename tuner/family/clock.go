package family

import (
	"time"
)

// kind is what a step is.
type kind int

const (
	searches kind = iota // of samples, for kernels that take the free dimensions
	tests                // searches of shapes that are held out
	owns                 // searches for samples' own best
	timings              // of samples, and of shapes that are held out
	probes               // likewise
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
	credit  [kinds]float64 // part of a search that the budget reaches for
}

// The shortest search, and which parts of the budget are kept: for all that comes after the searches, and after the
// probes. At least so many of the samples are searched as long as there is time for anything.
const (
	leastSearch = 500 * time.Millisecond
	forTimings  = 0.6
	forEntries  = 0.2

	leastOfSamples = 0.3
)

// part is a part of the budget.
func (c *clock) part(of float64) time.Duration { return time.Duration(of * float64(c.budget)) }

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
func (c *clock) searching() time.Duration { return max(0, c.remaining()-c.part(forTimings)) }

// affords tells whether the budget reaches for the next step of a kind. A search takes more than its share at times:
// to open a shape, to compile, to make sure of the winner. Where searches took more so far, some of samples are left
// out, evenly among those that are left. Shapes that are held out come before most samples: nothing else tells a regret.
func (c *clock) affords(of kind) bool {
	made := c.made[searches] + c.made[tests]
	switch {
	case c.budget <= 0 || of == timings:
		return true
	case of == probes:
		return c.remaining() > c.part(forEntries)
	case of == owns: // a budget is better spent on probes
		return false
	case made == 0:
		return true
	}
	each := max(1, (c.spent[searches]+c.spent[tests])/time.Duration(made))
	reach := float64(c.searching()) / float64(each) // of how many searches there is time
	switch of {
	case tests:
		reach -= leastOfSamples * float64(c.left[searches])
	case searches:
		reach = max(leastOfSamples*float64(c.left[searches]), reach-float64(c.left[tests]))
	}
	c.credit[of] += min(1, max(0, reach/float64(max(1, c.left[of]))))
	if c.credit[of] < 1 {
		return false
	}
	c.credit[of]--
	return true
}

// search is how long the next search may take: the most, or its share of the budget.
func (c *clock) search(most time.Duration) time.Duration {
	if c.budget <= 0 {
		return most
	}
	share := c.searching() / time.Duration(max(1, c.left[searches]+c.left[tests]))
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
