package tuner

import (
	"fmt"
	"slices"
	"time"

	"autotune/device/trial"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner/final"
	"autotune/tuner/strategy"
)

// course decides what a search tries next, and tells the strategy what came of it. Defaults, low
// estimates and earlier winners come first, then what the strategy proposes. It leaves out what
// another search evaluates, and templates whose variants all crash or hang.
type course struct {
	kernel   func(space.Configuration) (operator.Kernel, error)
	space    *space.Space
	field    *final.Field
	ledger   *ledger
	digests  map[int64]string // of kernels whose trials the cache has
	strategy strategy.Strategy
	recheck  bool              // only first is tried
	first    []int64           // configurations that come before anything the strategy wants
	warn     func(text string) // tells the user
	outcomes []strategy.Seen   // of the field's trials, as the strategy was told
	worked   []int64           // configurations whose trials are right, of those: asked for at each turn
	begun    map[int64]int     // turns, from 1, of configurations that were proposed or remembered
	resumed  int               // trials that other searches made
	conducts map[int]*conduct  // of templates, by their part of the space
	theirs   []int64           // configurations that another search claims
	news     time.Time         // when another's trial last came
}

// next is the configuration to be tried next; not ok if there is none now.
func (c *course) next() (id int64, ok bool, err error) {
	for len(c.first) > 0 {
		id, c.first = c.first[0], c.first[1:]
		if ok, err = c.take(id); ok || err != nil {
			return id, ok, err
		}
	}
	if c.recheck {
		return 0, false, nil
	}
	for {
		if id, ok = c.strategy.Ask(); !ok {
			return c.takeOver()
		}
		if ok, err = c.take(id); ok || err != nil {
			return id, ok, err
		}
	}
}

// take tells whether a configuration may be tried now: it was not begun, its template is not given
// up, and no other search has it.
func (c *course) take(id int64) (bool, error) {
	if c.begun[id] != 0 || c.setAside(id) {
		return false, nil
	}
	return c.claim(id)
}

func (c *course) begin(id int64) { c.begun[id] = len(c.begun) + 1 }

func (c *course) tell(id int64, t trial.Trial) {
	stands, ok := c.field.Enter(id, t)
	o := strategy.Outcome{OK: ok, Score: stands.Median}
	c.outcomes = append(c.outcomes, strategy.Seen{ID: id, Outcome: o})
	if ok {
		c.worked = append(c.worked, id)
	}
	c.strategy.Tell(id, o)
}

// claim decides whether a configuration is this search's to evaluate. If another search
// evaluates it now, or has done so meanwhile, it is not.
func (c *course) claim(id int64) (mine bool, err error) {
	if !c.ledger.shared {
		return true, nil
	}
	k, err := c.kernel(c.space.At(id))
	if err != nil {
		return true, nil // preparing it says why
	}
	if mine, err = c.ledger.claim(k.Digest()); err != nil {
		return false, err
	}
	if !mine {
		c.begin(id)
		c.theirs = append(c.theirs, id)
		return false, nil
	}
	err = c.catchUp()
	return err == nil && !c.ledger.knows(k.Digest()), err
}

// catchUp takes in the trials that other searches have added to the store, those whose
// kernels are today what they were.
func (c *course) catchUp() error {
	trials, err := c.ledger.news()
	for _, t := range trials {
		id, ok := c.space.Index(t.Configuration)
		if !ok {
			continue
		}
		t.Configuration = c.space.At(id) // with today's order and types
		if c.digest(id) != t.KernelDigest || !c.free(id) {
			continue
		}
		c.begin(id)
		c.resumed++
		c.news = time.Now()
		c.tell(id, t)
	}
	return err
}

// digest is of a configuration's kernel as it is today; "": it has none. A cache may hold many trials of one
// configuration whose kernels were edited since.
func (c *course) digest(id int64) string {
	if _, known := c.digests[id]; !known {
		if k, err := c.kernel(c.space.At(id)); err == nil {
			c.digests[id] = k.Digest()
		}
	}
	return c.digests[id]
}

// free tells whether a configuration is not this search's own: it was not begun, or was
// left to another search.
func (c *course) free(id int64) bool {
	if c.begun[id] == 0 {
		return true
	}
	at := slices.Index(c.theirs, id)
	if at < 0 {
		return false
	}
	c.theirs = slices.Delete(c.theirs, at, at+1)
	return true
}

func (c *course) takeOver() (id int64, ok bool, err error) {
	if err := c.catchUp(); err != nil {
		return 0, false, err
	}
	left := c.theirs
	c.theirs = nil
	for i, id := range left {
		if ok, err = c.claim(id); ok || err != nil {
			c.theirs = append(c.theirs, left[i+1:]...)
			return id, ok, err
		}
	}
	return 0, false, nil
}

// polish has the search try, before it ends, configurations that differ from the best in one
// tunable and may well be faster. The target leaves gains of a few percent, most of which are
// there. It tells whether any such configuration has no trial yet. A remembered search has done so
// already.
func (c *course) polish(p strategy.Prospect) bool {
	if len(c.field.Trials) == c.resumed {
		return false
	}
	beside := slices.DeleteFunc(p.Beside, func(id int64) bool {
		return c.field.Tried(id) || slices.Contains(c.theirs, id)
	})
	if len(c.first) == 0 {
		c.first = slices.DeleteFunc(slices.Clone(beside), func(id int64) bool { return c.begun[id] != 0 })
	}
	return len(c.first)+len(beside) > 0
}

// waits tells whether another search still evaluates what this one lacks.
func (c *course) waits() bool {
	if len(c.theirs) == 0 {
		return false
	}
	if c.news.IsZero() {
		c.news = time.Now()
	}
	return time.Since(c.news) < policy.mostWaiting
}

type conduct struct {
	harm  int
	first trial.Trial
	ended bool // a variant neither crashed nor hung
	told  bool // the user was told that it is given up
}

func (c *course) watch(id int64, t trial.Trial) {
	part := c.space.PartOf(id)
	if c.conducts[part] == nil {
		c.conducts[part] = &conduct{first: t}
	}
	of := c.conducts[part]
	switch t.Status {
	case trial.Crashed:
		of.harm += policy.crash
	case trial.Timeout:
		of.harm += policy.hang
	default:
		of.ended = true
	}
}

// setAside tells whether a configuration is of a template that is given up. If so, the strategy is
// told that it failed.
func (c *course) setAside(id int64) bool {
	of := c.conducts[c.space.PartOf(id)]
	if of == nil || of.ended || of.harm < policy.asideAfter || c.field.Best() == nil {
		return false
	}
	if !of.told {
		of.told = true
		c.warn(fmt.Sprintf("template %s is given up: its variants crash or hang, and none ended; the first, %s: %s",
			of.first.Template, of.first.Status, of.first.Reason()))
	}
	c.strategy.Tell(id, strategy.Outcome{})
	return true
}
