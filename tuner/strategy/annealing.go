package strategy

import "math"

// annealing is simulated annealing: a walk from neighbour to neighbour that
// accepts a worse one the more readily the hotter it is, and cools down. When
// cold it is warmed up again at the best configuration found.
type annealing struct {
	*archive
	at      int64
	loss    float64
	heat    float64
	cooling float64 // factor an evaluation
	warm    float64 // the heat to go back to when cold
}

// Heats are differences of the logarithm of the score: at 0.5 a configuration
// that takes e^0.5 times as long is accepted in 37 of 100 cases.
const (
	hottest = 0.5
	coldest = 0.004
	// coolingRounds is the evaluations of one cooling when there is no budget.
	coolingRounds = 300
)

func newAnnealing(a *archive, o Options) method {
	rounds := float64(coolingRounds)
	if o.Budget > 0 {
		rounds = float64(o.Budget)
	}
	rounds = min(rounds, float64(a.space.Len()))
	return &annealing{
		archive: a, at: -1, loss: math.Inf(1),
		heat: hottest, cooling: math.Pow(coldest/hottest, 1/max(rounds, 1)), warm: hottest,
	}
}

func (s *annealing) propose() (int64, bool) {
	if s.at < 0 {
		return 0, false // until something works
	}
	return s.neighbour(s.at), true
}

func (s *annealing) learn(id int64, o Outcome) {
	if o.OK {
		rise := loss(o) - s.loss
		if s.at < 0 || rise <= 0 || s.rng.Float64() < math.Exp(-rise/s.heat) {
			s.at, s.loss = id, loss(o)
		}
	}
	s.heat *= s.cooling
	if s.heat < coldest && s.best >= 0 {
		s.warm = max(s.warm/2, 4*coldest)
		s.heat, s.at, s.loss = s.warm, s.best, math.Log(s.score)
	}
}
