package strategy

import (
	"cmp"
	"math"
	"slices"
)

// forest proposes by a tree-ensemble surrogate: it looks at many configurations,
// random ones and neighbours of the best, and proposes those with the greatest
// expected improvement. The trees are grown anew after every few outcomes.
type forest struct {
	*featureCache
	seeds  []int64 // to begin with
	queue  []int64 // proposals of the present trees, the best last
	learnt int     // outcomes since they were grown
}

const (
	forestSeeds      = 12
	forestRegrow     = 30 // in a search of this many outcomes, trees wait for one more before they are grown again
	forestCandidates = 300
	forestAround     = 4   // how many of the best have their neighbours looked at
	forestMemory     = 200 // examples at most: the best of them and the latest
)

func newForest(a *archive, _ Options) method {
	return &forest{featureCache: newFeatureCache(a), seeds: maximin(a, forestSeeds)}
}

func (f *forest) propose() (int64, bool) {
	if n := len(f.seeds); n > 0 {
		id := f.seeds[n-1]
		f.seeds = f.seeds[:n-1]
		return id, true
	}
	if len(f.working) < 2 {
		return 0, false
	}
	if f.learnt > 0 && f.learnt >= f.regrowAfter() || len(f.queue) == 0 {
		f.plan()
	}
	for len(f.queue) > 0 {
		id := f.queue[len(f.queue)-1]
		f.queue = f.queue[:len(f.queue)-1]
		if f.unseen(id) {
			return id, true
		}
	}
	return 0, false
}

// regrowAfter is how many outcomes are waited for before trees are grown again.
func (f *forest) regrowAfter() int { return 1 + len(f.order)/forestRegrow }

func (f *forest) learn(int64, Outcome) { f.learnt++ }

// plan grows trees and queues the most promising configurations.
func (f *forest) plan() {
	f.learnt = 0
	examples := f.examples(f.remembered())
	targetLoss(examples)
	model := growTrees(f.rng, f.categorical, examples, treeCount)
	best := math.Log(f.score)
	f.queue = f.candidates()
	worth := map[int64]float64{}
	for _, id := range f.queue {
		worth[id] = expectedImprovement(model.predict(f.features(id)), best)
	}
	slices.SortStableFunc(f.queue, func(a, b int64) int { return cmp.Compare(worth[a], worth[b]) })
	f.queue = f.queue[max(0, len(f.queue)-f.regrowAfter()-2):]
}

// remembered are the configurations that the trees learn from.
func (f *forest) remembered() []int64 {
	if len(f.order) <= forestMemory {
		return f.order
	}
	return slices.Concat(f.bestOf(forestMemory/2), f.order[len(f.order)-forestMemory/2:])
}

// candidates are unseen configurations: random ones and neighbours of the best.
func (f *forest) candidates() []int64 {
	ids := f.space.Sample(f.rng, forestCandidates)
	for _, id := range f.bestOf(forestAround) {
		ids = append(ids, f.vicinity(id)...)
	}
	listed := map[int64]bool{}
	return slices.DeleteFunc(ids, func(id int64) bool {
		again := listed[id]
		listed[id] = true
		return again || !f.unseen(id)
	})
}
