package strategy

import (
	"cmp"
	"slices"
)

// bayesian is Bayesian optimisation: it fits a Gaussian process to the outcomes and proposes the candidate with the
// greatest expected improvement. The candidates for a proposal are random configurations and neighbours of the best
// ones. A configuration that is still being evaluated counts as observed with its expected loss, so that several
// proposals at once differ.
type bayesian struct {
	*featureCache
	seeds  []int64 // the first proposals
	model  *lossModel
	pool   pool
	around map[int64]bool // configurations whose neighbours are in the pool
}

func newBayesian(a *archive) method {
	c := newFeatureCache(a)
	seeds := a.expected.Likely(a.space, policy.likelySeeds)
	slices.Reverse(seeds)
	if a.expected == nil {
		seeds = maximin(a, policy.seeds)
	}
	return &bayesian{featureCache: c, seeds: seeds, model: newLossModel(c)}
}

func (b *bayesian) propose() (int64, bool) {
	if n := len(b.seeds); n > 0 && (b.expected == nil || len(b.working) < policy.likelyUntil) {
		id := b.seeds[n-1]
		b.seeds = b.seeds[:n-1]
		return id, true
	}
	if len(b.working) < 3 || len(b.categorical) == 0 {
		return 0, false
	}
	if b.model.old() {
		b.model.renew()
		b.pool, b.around = pool{}, nil
	}
	b.refill()
	at := b.mostPromising()
	if at == nil {
		return 0, false
	}
	b.model.enter(at)
	return at.id, true
}

func (b *bayesian) learn(id int64, o Outcome) {
	if b.model.entry != nil {
		at := b.pool.find(id)
		if at == nil {
			at = &probe{id: id, point: b.features(id)}
		}
		b.model.enter(at)
		b.model.see(at, o)
	}
}

func (b *bayesian) refill() {
	draws := 0
	switch {
	case b.around == nil:
		b.around = map[int64]bool{}
		if draws = policy.draws; b.expected != nil {
			draws = policy.likelyDraws
		}
	case b.pool.sweeping():
		draws = policy.refresh
	}
	for _, id := range b.expected.candidates(b.archive, draws) {
		b.candidate(id)
	}
	for _, id := range b.bestOf(policy.around) {
		if !b.around[id] {
			b.around[id] = true
			for _, near := range b.vicinity(id) {
				b.candidate(near)
			}
		}
	}
}

func (b *bayesian) candidate(id int64) {
	if b.unseen(id) && b.pool.find(id) == nil {
		b.pool.add(&probe{id: id, point: b.features(id)})
	}
}

// mostPromising removes the best candidate from the pool and returns it, or nil if there is none.
func (b *bayesian) mostPromising() *probe {
	b.pool.list = slices.DeleteFunc(b.pool.list, func(at *probe) bool { return !b.unseen(at.id) })
	if b.pool.sweeping() {
		b.model.learnFailures()
	}
	return b.pool.take(func(p *probe) float64 {
		return expectedImprovement(b.model.expect(p), b.model.threshold(p.id, b.score))
	})
}

// pool holds candidates for a proposal, and for each its worth when it was last rated. A candidate's worth changes
// little from one outcome to the next, so most calls rate only the best few again. Every policy.sweep-th call of take
// rates all candidates and drops the worst ones.
type pool struct {
	list []*probe
	turn int
}

// sweeping reports whether the next call of take rates all candidates again, rather than only the best ones.
func (p *pool) sweeping() bool { return p.turn%policy.sweep == 0 }

func (p *pool) find(id int64) *probe {
	at := slices.IndexFunc(p.list, func(at *probe) bool { return at.id == id })
	if at < 0 {
		return nil
	}
	return p.list[at]
}

func (p *pool) add(at *probe) {
	at.fresh = true
	p.list = append(p.list, at)
}

// take removes and returns the candidate with the greatest worth, or nil if there is none.
func (p *pool) take(worth func(*probe) float64) *probe {
	sweep := p.sweeping()
	p.turn++
	var most *probe
	for i, at := range p.list {
		if sweep || i < policy.hot || at.fresh {
			at.worth, at.fresh = worth(at), false
		}
		if most == nil || at.worth > most.worth {
			most = at
		}
	}
	if sweep {
		p.rank()
	}
	p.list = slices.DeleteFunc(p.list, func(at *probe) bool { return at == most })
	return most
}

func (p *pool) rank() {
	slices.SortStableFunc(p.list, func(a, b *probe) int { return cmp.Compare(b.worth, a.worth) })
	p.list = p.list[:min(len(p.list), policy.size)]
}
