package strategy

// method is an algorithm without the bookkeeping: it proposes configurations and
// learns their outcomes. It may be asked again before it learns, and it also
// learns of configurations that it did not propose.
type method interface {
	// propose names a configuration, known or not; false if it has none to name.
	propose() (int64, bool)
	// learn tells an outcome: of a proposal, once it is known, or of a
	// configuration that came from elsewhere.
	learn(id int64, o Outcome)
}

// maxKnown is how many proposals in a row may be known or under way before a
// random configuration is taken instead.
const maxKnown = 50

// guided makes a Strategy of a method. A proposal that is known already is
// answered at once. When the method proposes nothing new, a configuration is drawn
// from what is left, so every search ends with the whole space known.
type guided struct {
	*archive
	method method // nil in an empty space
}

func (g *guided) Ask(n int) []int64 {
	var ids []int64
	for len(ids) < n {
		id, ok := g.next()
		if !ok {
			break
		}
		g.underWay[id] = true
		ids = append(ids, id)
	}
	return ids
}

func (g *guided) next() (int64, bool) {
	if int64(len(g.known)+len(g.underWay)) >= g.space.Len() {
		return 0, false
	}
	for range maxKnown {
		id, ok := g.method.propose()
		if !ok {
			break
		}
		if g.unseen(id) {
			return id, true
		}
		if o, known := g.known[id]; known {
			g.method.learn(id, o)
		}
	}
	return g.anyUnseen()
}

func (g *guided) Tell(id int64, o Outcome) {
	if g.method != nil && g.tell(id, o) {
		g.method.learn(id, g.known[id])
	}
}
