// Package strategy holds the ways to walk a space: which configurations to
// evaluate next, given what the earlier ones scored.
//
// A Strategy is asked for configurations, by their index in the space. It is
// told what they scored, in any order and with many of them under way at once.
// It sees a space and scores and nothing else: no device, no source, no clock.
// The same seed, asks and tells give the same walk.
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
	// Ask proposes up to n configurations, none of which was proposed or told
	// before. Fewer means that the strategy waits for the outcomes of those under
	// way. None, while nothing is under way, means that it is done.
	Ask(n int) []int64
	// Tell reports an outcome, also of configurations that were not asked for
	// (defaults, earlier searches).
	Tell(i int64, o Outcome)
}

// Options are what every strategy understands.
type Options struct {
	Seed   uint64
	Budget int // evaluations that the search intends, 0 if open
}

// entry is a strategy's name, what `--strategy` shows of it, and what makes its
// method on an archive that is empty.
type entry struct {
	name, summary string
	method        func(a *archive, o Options) method
}

// entries lists the strategies in the order in which help shows them.
func entries() []entry {
	return []entry{
		{"auto", "the default: models and local search, each given the turns that it earns", newAuto},
		{"bayesian", "Gaussian process with expected improvement", newBayesian},
		{"forest", "extremely randomised trees with expected improvement", newForest},
		{"ils", "greedy iterated local search", newILS},
		{"annealing", "simulated annealing", newAnnealing},
		{"genetic", "genetic algorithm", newGenetic},
		{"differential_evolution", "differential evolution", newEvolution},
		{"particle_swarm", "particle swarm optimisation", newSwarm},
		{"random", "uniformly, without replacement", newRandom},
		{"exhaustive", "every configuration, in index order", newExhaustive},
	}
}

// Names lists the strategies, in the order that help shows them.
func Names() []string {
	names := make([]string, 0, len(entries()))
	for _, e := range entries() {
		names = append(names, e.name)
	}
	return names
}

// Default is the strategy that a search uses unless told otherwise.
const Default = "auto"

// Check says what is wrong with a strategy's name, if anything.
func Check(name string) error {
	if !slices.Contains(Names(), name) {
		return fmt.Errorf("unknown strategy %q; there are %s", name, strings.Join(Names(), ", "))
	}
	return nil
}

// New returns the strategy of that name over a space.
func New(name string, s *space.Space, o Options) (Strategy, error) {
	if err := Check(name); err != nil {
		return nil, err
	}
	all := entries()
	at := slices.IndexFunc(all, func(e entry) bool { return e.name == name })
	g := &guided{archive: newArchive(s, rand.New(rand.NewPCG(o.Seed, 0x5eed)))}
	if s.Len() > 0 {
		g.method = all[at].method(g.archive, o)
	}
	return g, nil
}
