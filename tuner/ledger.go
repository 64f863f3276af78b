package tuner

import (
	"slices"
	"sync"
	"time"

	"autotune/space"
	"autotune/tuner/strategy"
	"autotune/tuner/trial"
)

// ledger is the search's one account of what was proposed, what is under way
// and what came back. Compile workers draw from it, the device's side enters
// into it; a lock makes the strategy's one goroutine at a time.
type ledger struct {
	mu       sync.Mutex
	changed  *sync.Cond
	strategy strategy.Strategy
	first    []int64 // defaults, evaluated before anything the strategy wants
	baseline int64   // the untuned default's index, -1 if there is none
	seen     map[int64]bool
	budget   int
	deadline time.Time
	// ahead bounds how many configurations are under way at once, so that the
	// strategy's proposals are not older than they need be.
	ahead    int
	underWay int
	closed   bool
	stop     Stop
	// enough is set when the search has ended by time or target and has a winner:
	// what is under way is not worth waiting for. drop then tells those at it.
	enough bool
	drop   func()

	started  time.Time
	valid    int64
	trials   []trial.Trial
	outcomes []strategy.Seen // of trials, as the strategy was told
	resumed  int
	byStatus map[trial.Status]int
	best     int // index into trials, -1: none
	untuned  int // likewise
	observe  func(Progress)
}

func newLedger(s *space.Space, strat strategy.Strategy, o Options, first []int64, ahead int) *ledger {
	l := &ledger{
		strategy: strat, first: first, baseline: -1, seen: map[int64]bool{},
		budget: o.Budget, ahead: ahead, started: time.Now(), valid: s.Len(),
		byStatus: map[trial.Status]int{}, best: -1, untuned: -1, observe: o.Observe,
		drop: func() {},
	}
	if len(first) > 0 {
		l.baseline = first[0]
	}
	if o.Time > 0 {
		l.deadline = l.started.Add(o.Time)
	}
	l.changed = sync.NewCond(&l.mu)
	return l
}

// draw returns the next configuration to evaluate; it waits while the strategy
// does. Not ok: there are no more.
func (l *ledger) draw() (id int64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		if l.finished() {
			return 0, false
		}
		if l.underWay < l.ahead {
			if id, ok := l.propose(); ok {
				l.seen[id] = true
				l.underWay++
				return id, true
			}
			if l.underWay == 0 {
				l.close(StrategyEnd)
				return 0, false
			}
		}
		l.changed.Wait()
	}
}

// finished decides whether the search is over, and why.
func (l *ledger) finished() bool {
	switch {
	case l.closed:
	case int64(len(l.trials)+l.underWay) >= l.valid:
		l.close(Exhausted)
	case l.budget > 0 && len(l.trials)+l.underWay >= l.budget:
		l.close(BudgetSpent)
	case !l.deadline.IsZero() && time.Now().After(l.deadline) && len(l.seen) > 0: // however short, one is tried
		l.close(TimeSpent)
	}
	return l.closed
}

// over says whether there is nothing more to evaluate.
func (l *ledger) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.finished()
}

func (l *ledger) close(why Stop) {
	if !l.closed {
		l.closed, l.stop = true, why
		l.changed.Broadcast()
		l.settle()
	}
}

// settle decides whether there is enough.
func (l *ledger) settle() {
	if !l.enough && l.closed && (l.stop == TimeSpent || l.stop == Satisfied) && l.best >= 0 {
		l.enough = true
		l.drop()
	}
}

// whenEnough has drop called as soon as there is enough.
func (l *ledger) whenEnough(drop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop = drop
	if l.enough {
		drop()
	}
}

// hasEnough says whether what is under way may be dropped.
func (l *ledger) hasEnough() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.enough
}

// seenSoFar are the outcomes up to now.
func (l *ledger) seenSoFar() []strategy.Seen {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.outcomes)
}

// end ends the search for a reason of the caller's.
func (l *ledger) end(why Stop) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.close(why)
}

// interrupt ends the search early.
func (l *ledger) interrupt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.close(Interrupted)
	l.stop = Interrupted
}

func (l *ledger) propose() (int64, bool) {
	for len(l.first) > 0 {
		id := l.first[0]
		l.first = l.first[1:]
		if !l.seen[id] {
			return id, true
		}
	}
	for {
		ids := l.strategy.Ask(1)
		if len(ids) == 0 {
			return 0, false
		}
		if !l.seen[ids[0]] {
			return ids[0], true
		}
	}
}

// remember enters a trial of an earlier search.
func (l *ledger) remember(id int64, t trial.Trial) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen[id] {
		return
	}
	l.seen[id] = true
	l.resumed++
	l.enterLocked(id, t)
}

// enter records the outcome of a configuration that was drawn.
func (l *ledger) enter(id int64, t trial.Trial) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.underWay--
	l.enterLocked(id, t)
	l.observe(l.progress())
	l.changed.Broadcast()
}

func (l *ledger) enterLocked(id int64, t trial.Trial) {
	l.trials = append(l.trials, t)
	l.byStatus[t.Status]++
	at := len(l.trials) - 1
	if id == l.baseline {
		l.untuned = at
	}
	l.contend(at)
	l.settle()
	o := strategy.Outcome{OK: t.Status == trial.OK, Score: t.Time.Median}
	l.outcomes = append(l.outcomes, strategy.Seen{ID: id, Outcome: o})
	l.strategy.Tell(id, o)
}

// interrupted says whether the search was ended before its time.
func (l *ledger) interrupted() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stop == Interrupted
}

// leader is the configuration with the fastest median so far.
func (l *ledger) leader() (id int64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.best < 0 {
		return 0, false
	}
	return l.outcomes[l.best].ID, true
}

// amend changes the trial of a configuration and finds the best anew; it
// returns the trial as it is then.
func (l *ledger) amend(id int64, change func(*trial.Trial)) trial.Trial {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.IndexFunc(l.outcomes, func(s strategy.Seen) bool { return s.ID == id })
	t := &l.trials[at]
	if l.byStatus[t.Status]--; l.byStatus[t.Status] == 0 {
		delete(l.byStatus, t.Status)
	}
	change(t)
	l.byStatus[t.Status]++
	l.best = -1
	for i := range l.trials {
		l.contend(i)
	}
	return *t
}

// contend makes a trial the best, if it is.
func (l *ledger) contend(at int) {
	t := &l.trials[at]
	if t.Status == trial.OK && (l.best < 0 || t.Time.Median < l.trials[l.best].Time.Median) {
		l.best = at
	}
}

// abandon gives back a configuration that was drawn and not evaluated.
func (l *ledger) abandon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.underWay--
	l.changed.Broadcast()
}

// bestMS is the fastest median so far, 0 if there is none.
func (l *ledger) bestMS() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.best < 0 {
		return 0
	}
	return l.trials[l.best].Time.Median
}

// progress is called with the lock held.
func (l *ledger) progress() Progress {
	planned := l.valid
	if l.budget > 0 {
		planned = min(planned, int64(l.budget))
	}
	p := Progress{
		Done: len(l.trials), Planned: max(planned, int64(len(l.trials))), Valid: l.valid, Resumed: l.resumed,
		ByStatus: make(map[trial.Status]int, len(l.byStatus)), Elapsed: time.Since(l.started),
	}
	if !l.deadline.IsZero() {
		p.Limit = l.deadline.Sub(l.started)
	}
	for status, n := range l.byStatus {
		p.ByStatus[status] = n
	}
	if l.best >= 0 {
		p.Best = copyOf(l.trials[l.best])
	}
	if l.untuned >= 0 {
		p.Default = copyOf(l.trials[l.untuned])
	}
	return p
}

func copyOf(t trial.Trial) *trial.Trial { return &t }
