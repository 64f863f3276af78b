package strategy

import (
	"math"
	"slices"
)

// lossModel is a Gaussian process on the losses of an archive, and how likely
// a configuration is to work. It follows the archive outcome by outcome, and is
// made anew when there is much more to know than when its parameters were
// chosen, or when it has grown too large.
type lossModel struct {
	*featureCache
	process process
	ids     []int64       // by place of the process
	entry   map[int64]int // place by configuration; nil until it is ready
	center  float64       // of the losses
	scale   float64
	works   []float64 // by place: 1 for a configuration that works, 0 for a failure, -1 while unknown
	renewAt int       // outcomes at which it is made anew
	fitAt   int       // outcomes at which its parameters are chosen again
}

const (
	modelSize  = 200 // places at most
	modelKeeps = 120 // of which so many, most of them the best, stay
	fitRounds  = 50
)

func newLossModel(c *featureCache) *lossModel {
	return &lossModel{featureCache: c, process: process{kernel: newKernel(c.categorical), noise: usualNoise}}
}

func (m *lossModel) ready() bool { return m.entry != nil }

// old says whether it should be made anew.
func (m *lossModel) old() bool { return len(m.order) >= m.renewAt || len(m.ids) >= modelSize }

func (m *lossModel) renew() {
	ids := m.selection()
	m.standardise(ids)
	places, seen := make([][]float64, len(ids)), make([]float64, len(ids))
	m.works = m.works[:0]
	m.entry = make(map[int64]int, modelSize)
	for i, id := range ids {
		places[i], seen[i] = m.features(id), m.standard(m.known[id])
		m.works = append(m.works, worksAs(m.known[id]))
		m.entry[id] = i
	}
	m.ids = ids
	if len(m.order) >= m.fitAt {
		m.process.fit(m.rng, places, seen, fitRounds)
		m.fitAt = max(12, len(m.order)*17/10)
	}
	m.renewAt = max(len(m.order)+6, len(m.order)*3/2)
	for !m.process.set(places, seen) && m.process.noise < 1 {
		m.process.noise *= 10
	}
	var pending []int64
	for id := range m.underWay {
		pending = append(pending, id)
	}
	slices.Sort(pending)
	for _, id := range pending {
		m.enter(&probe{id: id, place: m.features(id)})
	}
}

// selection is all outcomes, or if they are too many the best and some others.
func (m *lossModel) selection() []int64 {
	if len(m.order) <= modelKeeps {
		return slices.Clone(m.order)
	}
	ids := slices.Clone(m.bestOf(modelKeeps * 2 / 3))
	chosen := make(map[int64]bool, modelKeeps)
	for _, id := range ids {
		chosen[id] = true
	}
	for len(ids) < modelKeeps {
		if id := m.order[m.rng.IntN(len(m.order))]; !chosen[id] {
			chosen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// standardise chooses center and scale. What is far above the median is slow,
// no matter how slow.
func (m *lossModel) standardise(ids []int64) {
	var losses []float64
	for _, id := range ids {
		if o := m.known[id]; o.OK {
			losses = append(losses, loss(o))
		}
	}
	slices.Sort(losses)
	middle := losses[len(losses)/2]
	top := middle + xTop*(middle-losses[0])
	sum, squares := 0.0, 0.0
	for _, x := range losses {
		x = min(x, top)
		sum += x
		squares += x * x
	}
	n := float64(len(losses))
	m.center = sum / n
	m.scale = math.Sqrt(max(1e-12, squares/n-m.center*m.center))
}

const (
	standardTop     = 2.5 // no outcome counts as worse
	standardFailure = 1   // what a failure counts as: bad
)

// standard is an outcome in the units of the process.
func (m *lossModel) standard(o Outcome) float64 {
	if !o.OK {
		return xSF
	}
	return min(standardTop, (loss(o)-m.center)/m.scale)
}

func worksAs(o Outcome) float64 {
	if o.OK {
		return 1
	}
	return 0
}

// enter adds a configuration, at what is expected of it.
func (m *lossModel) enter(at *probe) {
	if _, in := m.entry[at.id]; in {
		return
	}
	mean, _ := m.process.look(at)
	if m.process.add(at, mean) {
		m.entry[at.id] = len(m.ids)
		m.ids = append(m.ids, at.id)
		m.works = append(m.works, -1)
	}
}

// see tells the outcome of a configuration that was entered.
func (m *lossModel) see(id int64, o Outcome) {
	if i, in := m.entry[id]; in {
		m.process.see(i, m.standard(o))
		m.works[i] = worksAs(o)
	}
}

// expect is what the model believes of a candidate.
func (m *lossModel) expect(at *probe) belief {
	mean, deviation := m.process.look(at)
	return belief{mean, deviation, m.chance(at)}
}

// chance is the probability that a candidate works, from how alike those seen
// are and whether they did.
func (m *lossModel) chance(at *probe) float64 {
	if len(m.working) == len(m.order) {
		return 1
	}
	const prior = 0.5
	all := prior
	ok := prior * float64(len(m.working)) / float64(len(m.order))
	for i, k := range at.covariance {
		if w := m.works[i]; w >= 0 {
			k *= k
			all += k
			ok += k * w
		}
	}
	return ok / all
}
