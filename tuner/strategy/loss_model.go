package strategy

import (
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// lossModel is a Gaussian process that predicts by how much the losses of configurations differ from their expected
// losses. If the expected scores are accurate, actual losses differ little from expected losses, and a few outcomes
// suffice to learn the differences. Trees predict how likely a configuration is to work, since regions of failures have
// little to do with regions of slow configurations. The Gaussian process is updated with each outcome. The model is
// rebuilt when the Gaussian process has too many points, or many more outcomes than when its hyperparameters were last
// fitted.
type lossModel struct {
	*featureCache
	gp      gaussianProcess
	entry   map[int64]int // index of each configuration's point; nil until the model is built
	center  float64       // mean of the losses less their expectations
	scale   float64
	cliffs  trees // predict failures; nil until something failed
	grown   int   // how often cliffs were built
	renewAt int   // number of outcomes at which to rebuild the model
	fitAt   int   // number of outcomes at which to choose hyperparameters again
}

func newLossModel(c *featureCache) *lossModel {
	return &lossModel{featureCache: c, gp: gaussianProcess{covariance: newCovariance(c.categorical), noise: policy.noise}}
}

func (m *lossModel) old() bool { return len(m.order) >= m.renewAt || len(m.entry) >= policy.points }

// renew rebuilds the model from configurations that work. To the rebuilt model, renew adds configurations that
// failed or are under way, with the losses that the Gaussian process predicts for them.
func (m *lossModel) renew() {
	ids := m.selection()
	m.standardise(ids)
	m.entry = make(map[int64]int, policy.points)
	var points [][]float64
	var seen []float64
	var rest []int64
	for _, id := range ids {
		if o := m.known[id]; o.OK {
			points, seen = append(points, m.features(id)), append(seen, m.standard(id, o))
			m.entry[id] = len(m.entry)
		} else {
			rest = append(rest, id)
		}
	}
	if len(m.order) >= m.fitAt {
		m.gp.fit(m.rng, points, seen)
		m.fitAt = max(12, len(m.order)*4/3)
	}
	m.renewAt = max(len(m.order)+6, len(m.order)*5/4)
	for !m.gp.set(points, seen) && m.gp.noise < 1 {
		m.gp.noise *= 10
	}
	m.learnFailures()
	pending := slices.Sorted(maps.Keys(m.underWay)) // since a map's order is random
	for _, id := range append(rest, pending...) {
		at := &probe{id: id, point: m.features(id)}
		m.enter(at)
		if o, known := m.known[id]; known {
			m.see(at, o)
		}
	}
}

func (m *lossModel) selection() []int64 {
	if len(m.order) <= policy.keeps {
		return slices.Clone(m.order)
	}
	ids := slices.Clone(m.bestOf(policy.keeps * 2 / 3))
	for len(ids) < policy.keeps {
		if id := m.order[m.rng.IntN(len(m.order))]; !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// standardise sets the fields center and scale to the mean and deviation of the losses. Losses far above the median are
// reduced to a limit, since the exact time of a slow configuration does not matter.
func (m *lossModel) standardise(ids []int64) {
	var losses []float64
	for _, id := range ids {
		if o := m.known[id]; o.OK {
			losses = append(losses, loss(o)-m.expected.loss(id))
		}
	}
	slices.Sort(losses)
	middle := losses[len(losses)/2]
	top := middle + (middle - losses[0])
	for i, x := range losses {
		losses[i] = min(x, top)
	}
	m.center, m.scale = stat.PopMeanStdDev(losses, nil)
	m.scale = max(m.scale, 1e-6)
}

// standard returns the loss of a successful outcome relative to its expected loss, standardised by the mean and
// deviation of the model's losses and limited to policy.worst.
func (m *lossModel) standard(id int64, o Outcome) float64 {
	return min(policy.worst, m.threshold(id, o.Score))
}

// threshold returns the loss at which a configuration has the given score: the loss relative to the expected loss,
// standardised by the mean and deviation of the model's losses.
func (m *lossModel) threshold(id int64, score float64) float64 {
	return (math.Log(score) - m.expected.loss(id) - m.center) / m.scale
}

func (m *lossModel) enter(at *probe) {
	if _, in := m.entry[at.id]; in {
		return
	}
	mean, _ := m.gp.predict(at)
	if m.gp.add(at, mean) {
		m.entry[at.id] = len(m.entry)
	}
}

// see replaces the predicted loss of a configuration by the loss of its outcome. A failure has no score, so it gets
// a loss that is worse than expected; the loss is larger the more configurations around it fail. Because the loss
// of a failure depends on the configurations around it, the model avoids regions in which most configurations fail,
// but not the neighbours of a single failure.
func (m *lossModel) see(at *probe, o Outcome) {
	i, in := m.entry[at.id]
	if !in {
		return
	}
	if o.OK {
		m.gp.observe(i, m.standard(at.id, o))
		return
	}
	b := m.expect(at)
	m.gp.observe(i, b.works*b.mean+(1-b.works)*policy.failure)
}

func (m *lossModel) expect(at *probe) belief {
	mean, deviation := m.gp.predict(at)
	return belief{mean, deviation, m.chance(at)}
}

func (m *lossModel) learnFailures() {
	if len(m.working) == len(m.order) {
		return
	}
	ids := m.order[max(0, len(m.order)-policy.cliffCount):]
	m.cliffs = growTrees(m.rng, m.categorical, m.examples(ids), policy.cliffTrees)
	m.grown++
}

func (m *lossModel) chance(at *probe) float64 {
	if m.cliffs == nil {
		return 1
	}
	if at.judged != m.grown {
		at.judged = m.grown
		share := float64(len(m.working)) / float64(len(m.order))
		at.works = policy.cliffPrior*share + (1-policy.cliffPrior)*m.cliffs.works(at.point)
	}
	return at.works
}
