package strategy

// exhaustive proposes every configuration, in index order.
type exhaustive struct {
	*archive
	next int64
}

func (e *exhaustive) propose() (int64, bool) {
	for !e.unseen(e.next) {
		e.next++
	}
	return e.next, true
}

func (e *exhaustive) learn(int64, Outcome) {}

// The method random makes no proposals of its own, so that each configuration is drawn uniformly from the remaining
// ones.
type random struct{}

func (random) propose() (int64, bool) { return 0, false }
func (random) learn(int64, Outcome)   {}
