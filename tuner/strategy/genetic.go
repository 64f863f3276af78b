package strategy

import (
	"slices"
	"sort"
)

// genetic is a steady-state genetic algorithm: each child replaces the worst of
// the population if it is better. Parents win tournaments, a child takes each
// tunable from either of them, and some tunables change at random.
type genetic struct {
	*archive
	size       int
	seeding    int
	population []member // best first
}

const (
	tournament  = 3
	mutationsOf = 1.2 // tunables of a child that change, on average
)

func newGenetic(a *archive, _ Options) method {
	size := populationSize(a)
	return &genetic{archive: a, size: size, seeding: size}
}

func (g *genetic) propose() (int64, bool) {
	if g.seeding > 0 {
		g.seeding--
		return g.draw(), true
	}
	if len(g.population) == 0 {
		return 0, false
	}
	mother, father := g.parent(), g.parent()
	child := g.space.Choice(mother)
	part := g.space.PartOf(mother)
	if g.space.PartOf(father) == part {
		for k, v := range g.space.Choice(father) {
			if g.rng.IntN(2) == 0 {
				child[k] = v
			}
		}
	}
	tunables := g.space.Parts()[part].Tunables
	for k := range child {
		if g.rng.Float64()*float64(len(child)) < mutationsOf {
			child[k] = g.rng.IntN(len(tunables[k].Values))
		}
	}
	return g.valid(part, child)
}

// parent is the best of a few drawn at random.
func (g *genetic) parent() int64 {
	at := len(g.population)
	for range tournament {
		at = min(at, g.rng.IntN(len(g.population)))
	}
	return g.population[at].id
}

func (g *genetic) learn(id int64, o Outcome) {
	if !o.OK || slices.ContainsFunc(g.population, func(m member) bool { return m.id == id }) {
		return
	}
	born := member{id, loss(o)}
	at := sort.Search(len(g.population), func(i int) bool { return g.population[i].loss >= born.loss })
	g.population = slices.Insert(g.population, at, born)
	g.population = g.population[:min(len(g.population), g.size)]
}
