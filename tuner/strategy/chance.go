package strategy

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/distuv"

	"autotune/space"
)

// Seen is an evaluation that was made.
type Seen struct {
	ID int64
	Outcome
}

// Chance estimates the probability that a configuration which was not seen is
// faster than the best seen by more than a factor: 1.05 asks for 5 %. It depends
// on what was seen, in that order, and supposes that a good strategy chose it.
//
// Two witnesses are heard. A Gaussian process that is fitted to the scores says
// what the space may still hold (belief); alone it is a poor judge of extremes,
// too sure early and full of hope late. The search itself says since when nothing
// was gained: what has not happened for long is unlikely to happen, and the odds
// fall as one over the outcomes since then. The odds are those of the record times
// a root of those of the model. The two constants are chosen such that of searches
// that end at a chance of 5 % no more have more than the factor left; simulate
// --ending holds them against recordings.
//
// With fewer than 20 outcomes that work, or when the model is certain, the chance
// is 1. It takes about a tenth of a second and changes little with a few outcomes
// more: ask after every tenth or so.
func Chance(s *space.Space, seen []Seen, factor float64, seed uint64) float64 {
	a := newArchive(s, rand.New(rand.NewPCG(seed, 0xc4a)))
	for _, e := range seen {
		a.tell(e.ID, e.Outcome)
	}
	if int64(len(a.order)) >= s.Len() {
		return 0
	}
	if len(a.working) < chanceLeast || len(s.Dims()) == 0 {
		return 1
	}
	believed := math.Max(a.belief(factor), 1.0/(2*chanceDraws))
	if believed == 1 {
		return 1
	}
	odds := recordOdds / float64(a.since(factor)+recordLeast) * math.Pow(believed/(1-believed), modelTrust)
	return odds / (1 + odds)
}

const (
	recordOdds  = 10 // that one outcome without a gain leaves, where the model is in two minds
	recordLeast = 5
	modelTrust  = 1.0 / 5 // power of the model's odds
)

// since is how many outcomes that work came after the first that the factor does
// not separate from the best: since then nothing was gained.
func (a *archive) since(factor float64) int {
	n := 0
	for _, id := range a.order {
		o := a.known[id]
		switch {
		case !o.OK:
		case n > 0:
			n++
		case o.Score <= a.score*factor:
			n = 1
		}
	}
	return n - 1
}

// belief is the chance by the model alone. Joint scores of the most hopeful unseen
// configurations are drawn from it many times, with their covariances. Each
// configuration works or fails as often as its surroundings do. The belief is the
// share of the draws in which any beats the target. In spaces with more than a few
// thousand configurations a random sample and all neighbours of the best are looked
// at.
func (a *archive) belief(factor float64) float64 {
	m := newLossModel(newFeatureCache(a))
	m.renew()
	target := m.standard(Outcome{OK: true, Score: m.score / factor})
	return m.chanceBelow(m.hopeful(target), target)
}

const (
	chanceLeast  = 20   // outcomes that work
	chanceSample = 3000 // configurations that are looked at
	chanceAround = 5    // how many of the best have their neighbours looked at
	chanceJoint  = 150  // configurations that are drawn together
	chanceDraws  = 400
)

// hopeful lists the unseen configurations most likely to be below the target.
func (m *lossModel) hopeful(target float64) []*probe {
	ids := m.space.Sample(m.rng, chanceSample)
	for _, id := range m.bestOf(chanceAround) {
		ids = append(ids, m.space.Neighbours(id, space.Hamming)...)
	}
	slices.Sort(ids)
	var list []*probe
	for _, id := range slices.Compact(ids) {
		if m.unseen(id) {
			at := &probe{id: id, point: m.features(id)}
			b := m.expect(at)
			at.worth = b.works * distuv.UnitNormal.CDF((target-b.mean)/b.deviation)
			list = append(list, at)
		}
	}
	slices.SortStableFunc(list, func(a, b *probe) int { return cmp.Compare(b.worth, a.worth) })
	return list[:min(len(list), chanceJoint)]
}

// chanceBelow draws the losses of configurations together, and returns how often
// any of them that works is below the target.
func (m *lossModel) chanceBelow(list []*probe, target float64) float64 {
	if len(list) == 0 {
		return 0
	}
	means, works := make([]float64, len(list)), make([]float64, len(list))
	for i, at := range list {
		b := m.expect(at)
		means[i], works[i] = b.mean, b.works
	}
	joint, ok := m.gp.posterior(list, means, m.rng)
	if !ok {
		return 1
	}
	below := 0
	drawn := make([]float64, len(list))
	for range chanceDraws {
		for i, x := range joint.Rand(drawn) {
			if x < target && m.rng.Float64() < works[i] {
				below++
				break
			}
		}
	}
	return float64(below) / chanceDraws
}

// posterior is the joint distribution of the losses at the probes, whose means are
// known; false if their covariance has no factor.
func (p *gaussianProcess) posterior(list []*probe, means []float64, rng *rand.Rand) (*distmv.Normal, bool) {
	n := len(list)
	open := mat.NewSymDense(n, nil)
	for i, a := range list {
		for j := i; j < n; j++ {
			b := list[j]
			rest := p.between(a.point, b.point)
			for k, x := range a.solution {
				rest -= x * b.solution[k]
			}
			open.SetSym(i, j, rest)
		}
	}
	for jitter := 1e-8; jitter < 1; jitter *= 100 {
		for i := range n {
			open.SetSym(i, i, math.Max(open.At(i, i), 0)+jitter)
		}
		if joint, ok := distmv.NewNormal(means, open, rng); ok {
			return joint, true
		}
	}
	return nil, false
}

// Target is the factor by which a configuration must be faster to be worth
// searching on for, unless told otherwise.
const Target = 1.02

// A search is over below these chances.
const (
	overChance = 0.05
	// floorChance is for a search whose best is as fast as data can be copied. Such
	// a best may still be beaten, by a few percent where more is read than written,
	// so the floor alone ends nothing: it makes the search ask for less.
	floorChance = 0.12
)

// Outlook is what a search may still gain.
type Outlook struct {
	Target  float64 `json:"target"`                // a factor: 1.02 is 2 %
	Chance  float64 `json:"chance"`                // that a configuration was not seen which is faster by more
	AtFloor bool    `json:"at_roofline,omitempty"` // the best takes no longer than a copy of what it must move
}

// Over tells whether a search may end: nothing is left that is worth it.
func (o Outlook) Over() bool { return o.Sure() || o.AtFloor && o.Chance < floorChance }

// Sure tells whether the chance alone says so.
func (o Outlook) Sure() bool { return o.Chance < overChance }
