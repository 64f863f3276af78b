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

// course decides what a search tries next, and tells the strategy the outcomes. A search tries defaults, configurations
// with low estimated times and earlier winners before the configurations that its strategy proposes. The course of a
// search no longer tries a template if all variants of the template have crashed or hung.
type course struct {
	kernel   func(space.Configuration) (operator.Kernel, error)
	space    *space.Space
	field    *final.Field
	ledger   *ledger
	strategy strategy.Strategy
	recheck  bool              // only the configurations in first are tried
	first    []int64           // configurations to try before the strategy's proposals
	warn     func(text string) // warns the user
	outcomes []strategy.Seen   // outcomes of the field's trials, as told to the strategy
	worked   []int64           // configurations whose trials are correct
	begun    map[int64]int     // the turn, from 1, in which each configuration was proposed or remembered
	resumed  int               // number of trials from earlier searches
	conducts map[int]*conduct  // how each template's variants behaved, by the template's part of the space
}

// next returns the configuration that the search should try next, or ok=false if there is none at the moment.
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

// take reports whether a configuration may be tried now: it was not begun before, and its template is not given up.
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

// resume takes over the trials of earlier searches from the store if their kernels have not changed since. A cache may
// contain several trials of one configuration, made before and after the kernel was edited.
func (c *course) resume() error {
	trials, err := c.ledger.trials()
	digests := map[int64]string{} // of kernels as they are today; "": there is none
	for _, t := range trials {
		id, ok := c.space.Index(t.Configuration)
		if !ok {
			continue
		}
		t.Configuration = c.space.At(id) // configuration in the order and with the types of op.yaml today
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

// polish makes the search try, before it ends, configurations that differ from the best one in a single tunable and
// are likely to be faster. A search that stops at its target has often missed configurations that are a few percent
// faster, and most of them are neighbours of the best configuration. `polish` reports whether it found such a
// neighbour without a trial. If all trials of the search come from the cache, `polish` does nothing.
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
	ended bool // some variant neither crashed nor hung
	told  bool // the user was warned that the template is given up
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

// setAside reports whether a configuration's template is given up, and if so tells the strategy that the configuration
// failed.
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
