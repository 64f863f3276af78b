package strategy

// auto is the default strategy. Bayesian optimisation makes most of its
// proposals, for it learns the most from the fewest outcomes. A model can be
// wrong about a space, though, so a share of the turns goes to others that err
// in other ways: trees, which do not mind cliffs, and local search and a genetic
// algorithm, which believe in no model. All of them learn from every outcome.
// An arm that finds a new best earns more turns, of which time takes away again.
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
	autoAlone   = 40   // outcomes until which the model is alone
	autoReward  = 0.3  // that a new best earns
	autoFading  = 0.98 // of what was earned, a turn
	modelShare  = 1.0
	othersShare = 0.06
)

func newAuto(a *archive, o Options) method {
	s := &auto{archive: a, asked: map[int64]*arm{}}
	s.arms = []*arm{
		{method: newBayesian(a, o), base: modelShare},
		{method: newForest(a, o), base: othersShare},
		{method: newILS(a, o), base: othersShare},
		{method: newGenetic(a, o), base: othersShare},
	}
	for _, arm := range s.arms[1:] {
		skipSeeds(arm.method)
	}
	return s
}

// skipSeeds takes away the random configurations that a method begins with.
func skipSeeds(m method) {
	switch m := m.(type) {
	case *forest:
		m.seeds = nil
	case *ils:
		m.seeding = 0
	case *genetic:
		m.seeding = 0
	}
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
