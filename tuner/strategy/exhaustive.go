package strategy

type exhaustive struct {
	*archive
	next int64
}

func newExhaustive(a *archive) method { return &exhaustive{archive: a} }

func (e *exhaustive) propose() (int64, bool) {
	for !e.unseen(e.next) {
		e.next++
	}
	return e.next, true
}

func (e *exhaustive) learn(int64, Outcome) {}

// random proposes nothing itself, so that each configuration is drawn at random.
type random struct{}

func newRandom(*archive) method { return random{} }

func (random) propose() (int64, bool) { return 0, false }

func (random) learn(int64, Outcome) {}
