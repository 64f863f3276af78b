package family

import "time"

type kind int

const (
	searches kind = iota // of samples, for kernels that take the dynamic dimensions, and of shapes that are held out
	owns                 // searches for samples' own best
	timings
	kinds
)

// clock divides the time of a family among its steps, and says where it stands.
type clock struct {
	started time.Time
	budget  time.Duration // 0: no limit
	say     func(Progress)
	left    [kinds]int // steps
	done    int
	made    [kinds]int // steps that no earlier process had done
}

func (c *clock) remaining() time.Duration { return max(0, c.budget-time.Since(c.started)) }

func (c *clock) searching() time.Duration {
	return max(0, c.remaining()-time.Duration(policy.forTimings*float64(c.budget)))
}

// affords tells whether there is time for another search. Searches may take more than their share, to open a shape or
// to compile. Then the last ones are left out; the first samples are spread over the range as well.
func (c *clock) affords() bool {
	return c.budget <= 0 || c.made[searches]+c.made[owns] == 0 || c.searching() > 0
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
	return max(share, policy.leastSearch)
}

// step counts a step and says what it was. The steps left are expected to take as long as those made so far.
func (c *clock) step(of kind, what string, known bool) {
	c.left[of] = max(0, c.left[of]-1)
	if c.done++; !known {
		c.made[of]++
	}
	left, made := 0, 0
	for k := range kinds {
		left, made = left+c.left[k], made+c.made[k]
	}
	p := Progress{Step: what, Done: c.done, Of: c.done + left, Known: known}
	if made > 0 {
		p.Left = time.Since(c.started) / time.Duration(made) * time.Duration(left)
	}
	c.say(p)
}
