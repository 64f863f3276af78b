package batch

import (
	"slices"
	"sync"
	"time"
)

// leastSearch is the shortest search that a budget gives a problem. Less does not reach for a compilation and the finals.
const leastSearch = 500 * time.Millisecond

// Budget divides a time among things to do, by their weights: one after another, or several side by side. What one of
// them leaves goes to the next ones, and what one takes beyond its part is kept back from theirs. A nil budget has no end.
type Budget struct {
	lock   sync.Mutex
	ends   time.Time
	beside float64 // how many are done at the same time
	left   float64 // the weight of what was not begun
	under  float64 // of what was begun and is not done
	over   time.Duration
	done   int
}

// Part is what one thing has of a budget.
type Part struct {
	Limit  time.Duration // 0: no limit
	weight float64
	began  time.Time
}

// NewBudget is a budget that begins now, for things with these weights; nil without a limit.
func NewBudget(limit time.Duration, beside int, weights []float64) *Budget {
	if limit <= 0 {
		return nil
	}
	b := &Budget{ends: time.Now().Add(limit), beside: float64(beside)}
	for _, w := range weights {
		b.left += w
	}
	return b
}

// Next begins a thing of this weight; not ok: the budget is spent, and the thing is left out. The first one always has
// a time.
func (b *Budget) Next(weight float64) (p Part, ok bool) {
	if b == nil {
		return p, true
	}
	b.lock.Lock()
	defer b.lock.Unlock()
	all := max(b.left+b.under, weight)
	b.left = max(0, b.left-weight)
	p = Part{weight: weight, began: time.Now()}
	left := b.ends.Sub(p.began)
	if left < leastSearch && b.under+float64(b.done) > 0 {
		return p, false
	}
	p.Limit = min(left, time.Duration(float64(left)*b.beside*p.weight/all))
	if b.done > 0 {
		p.Limit -= b.over / time.Duration(b.done)
	}
	p.Limit = max(p.Limit, leastSearch)
	b.under += p.weight
	return p, true
}

// Done says that a thing is done.
func (b *Budget) Done(p Part) {
	if b == nil {
		return
	}
	b.lock.Lock()
	defer b.lock.Unlock()
	b.under, b.done = b.under-p.weight, b.done+1
	b.over += max(0, time.Since(p.began)-p.Limit)
}

// Weights are by how much of a budget each of several things has, from their shares of a program's time. What has no
// share weighs as much as the smallest one that there is.
func Weights(shares []float64) []float64 {
	least := 0.0
	for _, s := range shares {
		if s > 0 && (least == 0 || s < least) {
			least = s
		}
	}
	weights := slices.Clone(shares)
	for i, s := range shares {
		switch {
		case least == 0:
			weights[i] = 1
		case s <= 0:
			weights[i] = least
		}
	}
	return weights
}
