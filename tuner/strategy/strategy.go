// Package strategy holds the search strategies. A strategy chooses the configurations that a search evaluates next,
// based on the scores of earlier ones.
//
// A Strategy proposes configurations by their index in the space. A Strategy receives the scores of configurations in
// any order, and many evaluations may be under way at once. A Strategy knows only the space and the scores; it knows no
// device, no source and no clock. With the same seed and the same calls, a Strategy makes the same proposals.
package strategy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"autotune/space"
)

type Outcome struct {
	OK    bool
	Score float64 // median in ms, lower is better; only valid if OK
}

// Strategy proposes configurations. Only one goroutine at a time may use a Strategy.
type Strategy interface {
	// Ask proposes a configuration that Ask has not proposed before and whose outcome is unknown. The result ok=false
	// means that the strategy waits for outcomes of earlier proposals or, if all of these are known, that the strategy
	// has ended.
	Ask() (i int64, ok bool)
	// Tell informs the strategy of a configuration's outcome, even if Ask did not propose the configuration, as for
	// defaults.
	Tell(i int64, o Outcome)
}

type Options struct {
	Seed uint64
	// Expected holds the scores that an operator's estimates predict before any evaluation, or is nil.
	Expected *Expected
}

// methods lists the strategies in the order in which help shows them. Each strategy in the table `methods` starts with
// an archive that contains no outcomes.
var methods = []struct {
	name string
	on   func(a *archive) method
}{
	{Default, newBayesian}, // a Gaussian process with expected improvement
	{"random", func(*archive) method { return random{} }},
	{"exhaustive", func(a *archive) method { return &exhaustive{archive: a} }},
}

func Names() (names []string) {
	for _, m := range methods {
		names = append(names, m.name)
	}
	return names
}

// Default is the name of the strategy that a search uses unless another is named.
const Default = "bayesian"

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

// method is a search algorithm that only proposes configurations and learns their outcomes; guided does the
// bookkeeping. A method may be asked for several proposals before it learns, and it also learns outcomes of
// configurations that it did not propose.
type method interface {
	// propose returns a configuration, whose outcome may be known already, or false if the method has no proposal.
	propose() (int64, bool)
	// learn informs the method of the outcome of a configuration, which the method may have proposed or not.
	learn(id int64, o Outcome)
}

// guided makes a Strategy from a method. If the method proposes a configuration whose outcome is known, guided passes
// that outcome to the method at once. If the method proposes nothing new, guided draws one of the remaining
// configurations at random, so that a search without a limit tries the whole space.
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
