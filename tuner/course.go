package tuner

import (
	"fmt"
	"slices"

	"autotune/device/trial"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner/final"
	"autotune/tuner/strategy"
)

// course decides what a search tries next, and tells the strategy what came of it. Defaults, low estimates and earlier
// winners come first, then what the strategy proposes. It leaves out templates whose variants all crash or hang.
type course struct {
	kernel   func(space.Configuration) (operator.Kernel, error)
	space    *space.Space
	field    *final.Field
	ledger   *ledger
	strategy strategy.Strategy
	recheck  bool              // only first is tried
	first    []int64           // configurations that come before anything the strategy wants
	warn     func(text string) // tells the user
	outcomes []strategy.Seen   // of the field's trials, as the strategy was told
	worked   []int64           // configurations whose trials are correct, of those: asked for at each turn
	begun    map[int64]int     // turns, from 1, of configurations that were proposed or remembered
	resumed  int               // trials of earlier searches
	conducts map[int]*conduct  // of templates, by their part of the space
}

// next is the configuration to be tried next; not ok if there is none now.
func (c *course) next() (id int64, ok bool) {
	for len(c.first) > 0 {
		if id, c.first = c.first[0], c.first[1:]; c.take(id) {
			return id, true
		}
	}
	for !c.recheck {
		if id, ok = c.strategy.Ask(); !ok || c.take(id) {
			return id, ok
		}
	}
	return 0, false
}

// take tells whether a configuration may be tried now: it was not begun, and its template is not given up.
func (c *course) take(id int64) bool { return c.begun[id] == 0 && !c.setAside(id) }

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

// resume takes in the trials that earlier searches left in the store, those whose kernels are today what they were. A
// cache may hold many trials of one configuration whose kernel was edited since.
func (c *course) resume() error {
	trials, err := c.ledger.trials()
	digests := map[int64]string{} // of kernels as they are today; "": there is none
	for _, t := range trials {
		id, ok := c.space.Index(t.Configuration)
		if !ok {
			continue
		}
		t.Configuration = c.space.At(id) // with today's order and types
		if _, known := digests[id]; !known {
			if k, err := c.kernel(t.Configuration); err == nil {
				digests[id] = k.Digest()
			}
		}
		if digests[id] != t.KernelDigest || c.begun[id] != 0 {
			continue
		}
		c.begin(id)
		c.resumed++
		c.tell(id, t)
	}
	return err
}

// polish has the search try, before it ends, configurations that differ from the best in one
// tunable and may well be faster. The target leaves gains of a few percent, most of which are
// there. It tells whether any such configuration has no trial yet. A remembered search has done so
// already.
func (c *course) polish(p strategy.Prospect) bool {
	if len(c.field.Trials) == c.resumed {
		return false
	}
	beside := slices.DeleteFunc(p.Beside, c.field.Tried)
	if len(c.first) == 0 {
		c.first = slices.DeleteFunc(slices.Clone(beside), func(id int64) bool { return c.begun[id] != 0 })
	}
	return len(c.first)+len(beside) > 0
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
