// Package strategy holds the ways to walk a space: which configurations to evaluate next, given what the earlier ones
// scored.
//
// A Strategy is asked for configurations, by their index in the space. It is told what they scored, in any order and
// with many of them under way at once. It sees a space and scores and nothing else: no device, no source, no clock. The
// same seed, asks and tells give the same walk.
package strategy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"autotune/space"
)

// Outcome is what an evaluation tells a strategy.
type Outcome struct {
	OK    bool
	Score float64 // median milliseconds, lower is better; meaningless unless OK
}

// Strategy proposes configurations. It is used by one goroutine at a time.
type Strategy interface {
	// Ask proposes a configuration that was neither proposed nor told before. None, while others are under way, means
	// that the strategy waits for their outcomes; else that it is done.
	Ask() (i int64, ok bool)
	// Tell reports an outcome, also of configurations that were not asked for (defaults, earlier searches).
	Tell(i int64, o Outcome)
}

// Options are what every strategy understands.
type Options struct {
	Seed uint64
	// Expected is what is known before anything is evaluated; nil: nothing.
	Expected *Expected
}

// methods are the strategies by their names, in the order that help shows them. Each is made on an archive that is empty.
var methods = []struct {
	name string
	on   func(a *archive) method
}{
	{Default, newBayesian}, // a Gaussian process with expected improvement
	{"random", func(*archive) method { return random{} }},
	{"exhaustive", func(a *archive) method { return &exhaustive{archive: a} }},
}

// Names lists the strategies, in the order that help shows them.
func Names() (names []string) {
	for _, m := range methods {
		names = append(names, m.name)
	}
	return names
}

// Default is the strategy that a search uses unless told otherwise.
const Default = "bayesian"

// New returns the strategy of that name over a space.
func New(name string, s *space.Space, o Options) (Strategy, error) {
	at := slices.Index(Names(), name)
	if at < 0 {
		return nil, fmt.Errorf("unknown strategy %q; there are %s", name, strings.Join(Names(), ", "))
	}
	g := &guided{archive: newArchive(s, rand.New(rand.NewPCG(o.Seed, 0x5eed)), o.Expected)}
	if s.Len() > 0 {
		g.method = methods[at].on(g.archive)
	}
	return g, nil
}

// method is an algorithm without the bookkeeping: it proposes configurations and learns their outcomes. It may be asked
// again before it learns, and it also learns of configurations that it did not propose.
type method interface {
	// propose names a configuration, known or not; false if it has none to name.
	propose() (int64, bool)
	// learn tells an outcome: of a proposal, once it is known, or of a configuration that came from elsewhere.
	learn(id int64, o Outcome)
}

// guided makes a Strategy of a method. A proposal that is known already is answered at once. When the method proposes
// nothing new, a configuration is drawn from what is left, so every search ends with the whole space known.
type guided struct {
	*archive
	method method // nil in an empty space
}

func (g *guided) Ask() (int64, bool) {
	id, ok := g.next()
	if ok {
		g.underWay[id] = true
	}
	return id, ok
}

func (g *guided) next() (int64, bool) {
	if int64(len(g.known)+len(g.underWay)) >= g.space.Len() {
		return 0, false
	}
	for range policy.mostKnown {
		id, ok := g.method.propose()
		if !ok {
			break
		}
		if g.unseen(id) {
			return id, true
		}
		if o, known := g.known[id]; known {
			g.method.learn(id, o)
		}
	}
	return g.anyUnseen()
}

func (g *guided) Tell(id int64, o Outcome) {
	if g.method != nil && g.tell(id, o) {
		g.method.learn(id, g.known[id])
	}
}
