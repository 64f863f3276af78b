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

type Seen struct {
	ID int64
	Outcome
}

// Prospect is an estimate of what a search may still gain.
type Prospect struct {
	// Chance is the probability that an unseen configuration is faster than the best seen one by more than a factor:
	// 1.05 stands for 5 %.
	Chance float64
	Best   int64   // the best configuration seen; -1: none works
	Beside []int64 // unseen neighbours of the best that may well be faster
}

// Look estimates what a search may still gain, from its outcomes in the order in which they came. Look assumes that
// the search's configurations were chosen by a good strategy that knew the given expected scores.
//
// Look combines two sources. A Gaussian process that is fitted to the scores gives the odds that a better configuration
// exists; these odds are too low early in a search and too high late. The history of the search gives odds of 1 to the
// number of outcomes since the last gain. Look multiplies the odds from the search's history by a root of the odds from
// the Gaussian process. The constants in Look are chosen such that, of the searches that end at a 5 % chance of a gain,
// at most 5 % have missed a gain of more than the factor; `simulate --ending` checks that limit on recordings. If
// configurations have expected scores, the Gaussian process has smaller errors, and its odds get more weight.
//
// Look returns a chance of 1 if fewer than 20 outcomes are successes, or if the Gaussian process is certain of a
// gain. Look takes about a tenth of a second, and a few more outcomes change its result little, so Look need not be
// called after each outcome.
func Look(s *space.Space, seen []Seen, expected *Expected, factor float64, seed uint64) Prospect {
	a := newArchive(s, rand.New(rand.NewPCG(seed, 0xc4a)), expected)
	for _, e := range seen {
		a.tell(e.ID, e.Outcome)
	}
	p := Prospect{Chance: 1, Best: a.best}
	if int64(len(a.order)) >= s.Len() {
		p.Chance = 0
		return p
	}
	if len(a.working) < policy.leastOutcomes || len(s.Dims()) == 0 {
		return p
	}
	m := newLossModel(newFeatureCache(a))
	m.renew()
	p.Beside = m.beside()
	believed := math.Max(m.chanceBelow(m.hopeful(factor), factor), 1/float64(2*policy.drawn))
	if believed == 1 {
		return p
	}
	left, trust := policy.recordOdds, policy.modelTrust
	if expected != nil {
		left, trust = policy.expectedOdds, policy.expectedTrust
	}
	odds := left / float64(a.since(factor)+policy.recordLeast) * math.Pow(believed/(1-believed), trust)
	p.Chance = odds / (1 + odds)
	return p
}

// beside returns the neighbours of the best configuration that have no outcome yet and may well be faster.
func (m *lossModel) beside() (ids []int64) {
	for _, id := range m.space.Neighbours(m.best) {
		if at := (&probe{id: id, point: m.features(id)}); m.unseen(id) && m.beats(at, 1) >= policy.beside {
			ids = append(ids, id)
		}
	}
	return ids
}

// since returns how many outcomes succeeded after the first outcome whose score is within the factor of the best score.
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

// hopeful returns the unseen configurations that are most likely to be faster than the best one by the given factor. In
// a space with more than a few thousand configurations, hopeful considers only a random sample and all neighbours of
// the best configurations.
func (m *lossModel) hopeful(factor float64) []*probe {
	ids := m.expected.candidates(m.archive, policy.sample)
	for _, id := range m.bestOf(policy.nearest) {
		ids = append(ids, m.space.Neighbours(id)...)
	}
	slices.Sort(ids)
	var list []*probe
	for _, id := range slices.Compact(ids) {
		if m.unseen(id) {
			at := &probe{id: id, point: m.features(id)}
			at.worth = m.beats(at, factor)
			list = append(list, at)
		}
	}
	slices.SortStableFunc(list, func(a, b *probe) int { return cmp.Compare(b.worth, a.worth) })
	return list[:min(len(list), policy.joint)]
}

// beats returns the probability that a configuration is faster than the best one by the given factor.
func (m *lossModel) beats(at *probe, factor float64) float64 {
	b := m.expect(at)
	return b.works * distuv.UnitNormal.CDF((m.threshold(at.id, m.score/factor)-b.mean)/b.deviation)
}

// chanceBelow returns the model's probability that one of the listed configurations is faster than the best one by the
// factor. chanceBelow repeatedly draws the losses of all listed configurations from their joint distribution, and draws
// whether each of them works. The probability is the fraction of draws in which a working configuration is faster by
// the factor.
func (m *lossModel) chanceBelow(list []*probe, factor float64) float64 {
	if len(list) == 0 {
		return 0
	}
	means, works, target := make([]float64, len(list)), make([]float64, len(list)), make([]float64, len(list))
	for i, at := range list {
		b := m.expect(at)
		means[i], works[i], target[i] = b.mean, b.works, m.threshold(at.id, m.score/factor)
	}
	joint, ok := m.gp.posterior(list, means, m.rng)
	if !ok {
		return 1
	}
	below := 0
	drawn := make([]float64, len(list))
	for range policy.drawn {
		for i, x := range joint.Rand(drawn) {
			if x < target[i] && m.rng.Float64() < works[i] {
				below++
				break
			}
		}
	}
	return float64(below) / float64(policy.drawn)
}

// posterior returns the joint distribution of the losses at the listed probes, with the given means; it returns false
// if the covariance matrix has no Cholesky factor.
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

// Target is the usual factor by which a configuration must be faster to be worth a longer search.
const Target = 1.02

type Outlook struct {
	Target  float64 `json:"target"`                // a factor: 1.02 stands for 2 %
	Chance  float64 `json:"chance"`                // probability that an unseen configuration is faster by Target
	AtFloor bool    `json:"at_roofline,omitempty"` // the best takes no longer than a copy of all data
	Seconds float64 `json:"seconds,omitempty"`     // duration of the search until then; 0: its clock means nothing
}

// Over reports whether a search may end, because a gain that would be worth more time is unlikely.
func (o Outlook) Over() bool { return o.Sure() || o.AtFloor && o.Chance < policy.atFloor }

// Sure reports whether the chance of a gain is so low that a search may end even if its best time is far from the
// roofline.
func (o Outlook) Sure() bool { return o.Chance < o.limit() }

// Near reports whether the search will probably end soon, so that it should begin to prepare the gates.
func (o Outlook) Near() bool { return o.Chance < policy.nearlyOver*o.limit() }

func (o Outlook) limit() float64 {
	return min(policy.mostOver, policy.over*max(1, o.Seconds/policy.longSeconds))
}
