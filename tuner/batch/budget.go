package batch

import (
	"slices"
	"sync"
	"time"
)

// leastSearch is the shortest search that a budget allows: less time is too short to compile and run the finals.
const leastSearch = 500 * time.Millisecond

// Budget divides a time limit among tasks by their weights; tasks may run one after another or at the same time. A task
// that ends early leaves its remaining time to later tasks, and a task that takes longer than its part reduces theirs.
// A nil Budget has no limit.
type Budget struct {
	lock   sync.Mutex
	ends   time.Time
	beside float64 // how many tasks run at the same time
	left   float64 // total weight of the tasks that have not begun
	under  float64 // total weight of the tasks that run
	over   time.Duration
	done   int
}

// Part is the time that a Budget grants to one task.
type Part struct {
	Limit  time.Duration // 0: no limit
	weight float64
	began  time.Time
}

// NewBudget starts a budget for tasks with the given weights; it returns nil if limit is not positive.
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

// Next begins a task of the given weight and returns the task's part of the budget, or ok=false if the budget is spent.
// A budget always grants time to its first task.
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

// Done tells the budget that a task has ended; p is the part of the budget that Next granted to the task.
func (b *Budget) Done(p Part) {
	if b == nil {
		return
	}
	b.lock.Lock()
	defer b.lock.Unlock()
	b.under, b.done = b.under-p.weight, b.done+1
	b.over += max(0, time.Since(p.began)-p.Limit)
}

// Weights returns the weight of each task in a budget, which is the task's share of a program's running time. A task
// whose share of the time is unknown gets the smallest weight among the other tasks.
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
