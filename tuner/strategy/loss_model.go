package strategy

import (
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// lossModel is a Gaussian process on the losses of an archive, less what was expected of them: where expectations are
// good, it knows much from few outcomes, and how far to trust them it learns from those. Trees say how likely a
// configuration is to work: where things begin to fail has little to do with where they are slow. It follows the
// archive outcome by outcome. It is made anew when much more is known than when its hyperparameters were chosen, or
// when it has grown too large.
type lossModel struct {
	*featureCache
	gp      gaussianProcess
	entry   map[int64]int // index of a configuration's point; nil until it is ready
	center  float64       // of what the losses have beyond expectations
	scale   float64
	cliffs  trees // predict failures; nil while nothing failed
	grown   int   // how often cliffs were grown
	renewAt int   // outcomes at which it is made anew
	fitAt   int   // outcomes at which its hyperparameters are chosen again
}

func newLossModel(c *featureCache) *lossModel {
	return &lossModel{featureCache: c, gp: gaussianProcess{covariance: newCovariance(c.categorical), noise: policy.noise}}
}

func (m *lossModel) old() bool { return len(m.order) >= m.renewAt || len(m.entry) >= policy.points }

// renew enters the configurations that work. Failures and configurations under way follow, at what the process then
// expects of them.
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
	pending := slices.Sorted(maps.Keys(m.underWay)) // a map's own order is random
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

// standardise chooses center and scale. Losses far above the median are cut off: it does not matter how slow a slow one
// is.
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

// standard is the loss of an outcome that works, in the units of the process.
func (m *lossModel) standard(id int64, o Outcome) float64 {
	return min(policy.worst, m.threshold(id, o.Score))
}

// threshold is where in those units a configuration would reach a score.
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

// see gives a configuration that was entered its outcome. The score that a failure would have had is unknown. It counts
// as worse than expected, and the more so the more configurations around it fail: the model then avoids regions that
// fail, but not the surroundings of a single failure.
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
