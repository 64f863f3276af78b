package strategy

// auto is the default strategy, a bandit over four methods. Bayesian optimisation
// makes most of the proposals because it learns the most from the fewest outcomes.
// Its model can be wrong about a space, so methods with other weaknesses share the
// turns: trees, which handle sudden changes, and local search and a genetic
// algorithm, which use no model. All of them learn from every outcome. An arm that
// finds a new best earns more turns, and what it earned fades with time.
type auto struct {
	*archive
	arms  []*arm
	asked map[int64]*arm
}

// arm is a method and how many turns it gets.
type arm struct {
	method
	base   float64 // share of the turns without any success
	earned float64 // on top of that
}

const (
	autoAlone   = 60   // outcomes until which the model is alone
	autoReward  = 0.3  // that a new best earns
	autoFading  = 0.98 // of what was earned, a turn
	othersShare = 0.06 // the model's is 1 at first
	// autoLong is how many outcomes make a search a long one. From then on the
	// model's share falls: others may find what it has not found.
	autoLong = 400
)

// newAuto lets the model draw the first configurations; the other arms begin
// without any of their own.
func newAuto(a *archive, o Options) method {
	s := &auto{archive: a, asked: map[int64]*arm{}}
	model := newBayesian(a, o).(*bayesian)
	s.arms = []*arm{
		{method: model, base: 1},
		{method: &forest{featureCache: model.featureCache}, base: othersShare / 2},
		{method: newILSFrom(a, 0), base: othersShare},
		{method: &genetic{archive: a, size: populationSize(a)}, base: othersShare},
	}
	return s
}

func (s *auto) propose() (int64, bool) {
	arm := s.pick()
	id, ok := arm.propose()
	if ok && s.unseen(id) {
		s.asked[id] = arm
	}
	return id, ok
}

// pick draws an arm by its share of the turns.
func (s *auto) pick() *arm {
	if len(s.order) < autoAlone {
		return s.arms[0]
	}
	s.arms[0].base = min(1, autoLong/float64(len(s.order)))
	all := 0.0
	for _, arm := range s.arms {
		arm.earned *= autoFading
		all += arm.base + arm.earned
	}
	at := s.rng.Float64() * all
	for _, arm := range s.arms {
		if at -= arm.base + arm.earned; at < 0 {
			return arm
		}
	}
	return s.arms[0]
}

func (s *auto) learn(id int64, o Outcome) {
	if arm := s.asked[id]; arm != nil {
		delete(s.asked, id)
		if id == s.best && len(s.order) > autoAlone {
			arm.earned += autoReward
		}
	}
	for _, arm := range s.arms {
		arm.learn(id, o)
	}
}
