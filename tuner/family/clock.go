package family

import "time"

// clock divides the time of a family among its searches and timings, and says where it stands.
type clock struct {
	started           time.Time
	budget            time.Duration // 0: no limit
	say               func(Progress)
	searches, timings int // that are left
	done, made        int // steps, and those of them that no earlier process had done
}

func (c *clock) remaining() time.Duration { return max(0, c.budget-time.Since(c.started)) }

func (c *clock) searching() time.Duration {
	return max(0, c.remaining()-time.Duration(policy.forTimings*float64(c.budget)))
}

// affords tells whether there is time for another search. Searches may take more than their share, to open a shape or
// to compile. Then the last ones are left out; the first samples are spread over the range as well.
func (c *clock) affords() bool { return c.budget <= 0 || c.made == 0 || c.searching() > 0 }

// search is how long the next search may take: the most, or its share of the budget.
func (c *clock) search(most time.Duration) time.Duration {
	if c.budget <= 0 {
		return most
	}
	share := c.searching() / time.Duration(max(1, c.searches))
	if most > 0 {
		share = min(share, most)
	}
	return max(share, policy.leastSearch)
}

// searched and timed count a step and say what it was. Known is one that an earlier process had made.
func (c *clock) searched(what string, known bool) { c.step(&c.searches, what, known) }

func (c *clock) timed(what string) { c.step(&c.timings, what, false) }

// step expects the steps left to take as long as those made so far.
func (c *clock) step(left *int, what string, known bool) {
	*left = max(0, *left-1)
	if c.done++; !known {
		c.made++
	}
	ahead := c.searches + c.timings
	p := Progress{Step: what, Done: c.done, Of: c.done + ahead, Known: known}
	if c.made > 0 {
		p.Left = time.Since(c.started) / time.Duration(c.made) * time.Duration(ahead)
	}
	c.say(p)
}
