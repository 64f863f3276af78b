package strategy

import (
	"math/rand/v2"

	"autotune/space"
)

// method is an algorithm without the bookkeeping: it says what it would like to
// know next and learns what it turned out to be. It may be asked again before it
// learns, and learns of configurations that it did not propose.
type method interface {
	// propose names a configuration, known or not; false if it has no wish.
	propose() (int64, bool)
	// learn tells an outcome: of a proposal, once it is known, or of a
	// configuration that came from elsewhere.
	learn(id int64, o Outcome)
}

// patience is how many proposals in a row a method may make that are known or
// under way before a random configuration is taken in place of them.
const patience = 50

// walk makes a Strategy of a method. It begins with the configurations that the
// options name, answers a proposal that is known already at once, and when
// the method has nothing new it draws from what is left, so that every walk
// ends with the whole space known.
type walk struct {
	*archive
	method method
	start  []int64
}

// methodMaker builds a method on an archive that is empty.
type methodMaker func(a *archive, o Options) method

func walkWith(build methodMaker) maker {
	return func(s *space.Space, rng *rand.Rand, o Options) Strategy {
		a := newArchive(s, rng)
		w := &walk{archive: a}
		for _, id := range o.Start {
			if id >= 0 && id < s.Len() {
				w.start = append(w.start, id)
			}
		}
		if s.Len() > 0 {
			w.method = build(a, o)
		}
		return w
	}
}

func (w *walk) Ask(n int) []int64 {
	var ids []int64
	for len(ids) < n {
		id, ok := w.next()
		if !ok {
			break
		}
		w.ask(id)
		ids = append(ids, id)
	}
	return ids
}

func (w *walk) next() (int64, bool) {
	for len(w.start) > 0 {
		id := w.start[0]
		w.start = w.start[1:]
		if w.unseen(id) {
			return id, true
		}
	}
	if int64(len(w.known)+len(w.underWay)) >= w.space.Len() {
		return 0, false
	}
	for range patience {
		id, ok := w.method.propose()
		if !ok {
			break
		}
		if w.unseen(id) {
			return id, true
		}
		if o, known := w.known[id]; known {
			w.method.learn(id, o)
		}
	}
	return w.anyUnseen()
}

func (w *walk) Tell(id int64, o Outcome) {
	if w.method != nil && w.tell(id, o) {
		w.method.learn(id, w.known[id])
	}
}
