package tuner

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"autotune/tuner/final"
	"autotune/tuner/trial"
)

// A search whose time is up without a winner goes on until it has one, but no
// longer than the time again, or this if that is shorter.
const leastGrace = 2 * time.Second

// progressInterval is how often the caller hears of a search in which no trial
// ends.
const progressInterval = time.Second

// run is the search. This goroutine alone owns the strategy, the trials, the
// best of them and the reason to stop; the stages around it compile and
// evaluate. It ends when it has a reason to stop and nothing is under way. A
// device or compiler that cannot go on ends it with that error.
func (s *search) run(ctx context.Context) error {
	start := time.Now()
	s.considerKnown()
	if s.ended() && s.recall() {
		return nil
	}
	s.stages = s.startStages(ctx)
	deadline, look := s.timers(start)
	var last <-chan time.Time // when the search ends without a winner
	idle := time.NewTicker(progressInterval)
	defer idle.Stop()
	if s.can.Compiles {
		s.show(Preparing)
	}
	for s.feed() {
		toDevice, next := s.nextForDevice()
		var others <-chan time.Time // when to look for what other searches found
		if s.stop == "" && s.underWay() == 0 {
			others = time.After(lookInterval)
		}
		select {
		case <-others:
		case toDevice <- next:
			s.ready, s.onDevice = s.ready[1:], s.onDevice+1
		case o := <-s.stages.opened:
			s.open(o)
		case j := <-s.stages.compiled:
			s.compiling--
			s.take(j)
		case j := <-s.stages.evaluated:
			s.onDevice--
			s.finish(j)
		case <-deadline:
			s.end(TimeSpent)
			last = time.After(max(s.Time, leastGrace))
		case <-last:
			s.dropAll()
		case <-idle.C:
			s.show(s.phase)
		case <-look:
			s.estimate()
		case chance := <-s.stages.chances:
			s.consider(chance)
		case <-ctx.Done():
			s.end(Interrupted)
		}
	}
	if s.err == nil && s.stop != Interrupted && s.stop != CacheFailed && !s.late {
		s.err = s.settleWinner(ctx)
	}
	s.stages.close()
	s.collect()
	s.breakdown.close(start, s.stages.work, s.workers(), s.devices())
	if ctx.Err() != nil && isCancel(s.err) {
		s.end(Interrupted)
		return nil
	}
	return s.err
}

func isCancel(err error) bool {
	return err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// timers are the search's time limit and the rhythm in which a search with a
// target looks at it; nil where there is none.
func (s *search) timers(start time.Time) (deadline, look <-chan time.Time) {
	if s.Time > 0 {
		deadline = time.After(time.Until(start.Add(s.Time - final.Reserve(s.Time))))
	}
	if s.Target > 0 && s.can.Compiles {
		look = time.Tick(outlookInterval)
	}
	return deadline, look
}

// ended decides whether no more configurations are begun, and why.
func (s *search) ended() bool {
	begun := len(s.Trials) + s.underWay()
	switch {
	case s.stop != "":
	case int64(begun) >= s.space.Len():
		s.end(Exhausted)
	case s.Budget > 0 && begun >= s.Budget:
		s.end(BudgetSpent)
	}
	return s.stop != ""
}

// end sets the reason to stop. The first one stands, but for those that cut
// short what is under way.
func (s *search) end(why Stop) {
	if s.stop == "" || why == Interrupted || why == TimeSpent || why == CacheFailed {
		s.stop = why
	}
	s.settle()
}

// settle drops what is under way when the search is at its end and has a winner:
// it is not worth waiting for. What the device is at may finish.
func (s *search) settle() {
	if s.stages == nil || s.dropped || s.Best() == nil || !slices.Contains([]Stop{TimeSpent, Satisfied, AtRoofline, CacheFailed}, s.stop) {
		return
	}
	s.dropped = true
	s.ready = nil
	s.stages.drop()
	select {
	case <-s.stages.toDevice:
		s.onDevice--
	default:
	}
}

// dropAll gives up a search that is far beyond its time and has no winner.
func (s *search) dropAll() {
	if s.Best() == nil {
		s.late = true
		s.stages.cancel()
	}
}

// underWay is how many configurations were begun and have no trial yet.
func (s *search) underWay() int {
	if s.dropped {
		return s.onDevice
	}
	return s.compiling + len(s.ready) + s.onDevice
}

// feed gives the compilers configurations as long as one of them is free, and no
// more than the strategy should be ahead of its outcomes. It tells whether there
// is anything to wait for.
func (s *search) feed() bool {
	s.staff(s.stages)
	s.ready = slices.DeleteFunc(s.ready, func(j job) bool { return s.setAside(j.id) })
	for !s.ended() && s.compiling < s.workers() && s.underWay() < s.lookahead() {
		id, ok := s.propose()
		if !ok {
			if s.underWay() == 0 && !s.waitsForOthers() {
				s.end(StrategyEnd)
			}
			break
		}
		s.begin(id)
		s.compiling++
		s.stages.toCompile <- id // has room for as many as there are compilers
	}
	return s.err == nil && s.stop != Interrupted && !s.late && (!s.opened || s.underWay() > 0 || s.stop == "")
}

// propose is the next configuration: those with the lowest estimates, the defaults and the
// winners of similar problems first (afterLikely), then what the strategy wants.
func (s *search) propose() (int64, bool) {
	for len(s.first) > 0 {
		id := s.first[0]
		s.first = s.first[1:]
		if s.begun[id] == 0 && !s.setAside(id) && s.claim(id) {
			return id, true
		}
	}
	if s.Recheck {
		return 0, false
	}
	for {
		ids := s.strategy.Ask(1)
		if len(ids) == 0 {
			return s.takeOver()
		}
		if s.begun[ids[0]] == 0 && !s.setAside(ids[0]) && s.claim(ids[0]) {
			return ids[0], true
		}
	}
}

// nextForDevice is the job that the device gets next, and the channel to it; nil
// while there is none, the device is not open, or it has its share.
func (s *search) nextForDevice() (chan<- job, job) {
	if len(s.ready) == 0 || !s.opened || s.onDevice >= s.share() {
		return nil, job{}
	}
	next := s.ready[0]
	if s.Objective.Name == "" { // else a slow one may be the best
		next.best = s.BestMS()
	}
	return s.stages.toDevice, next
}

// open takes note of what the device measured when it was opened.
func (s *search) open(o opening) {
	s.opened, s.phase, s.session = true, Searching, o.session
	s.breakdown.Open = o.span.length()
	s.fail(o.err)
	s.ceilings = o.ceilings
	s.ceilings.Baselines = s.elsewhere()
}

// fail ends the search with an error, if it is one. That something was given up
// because the whole search was is none.
func (s *search) fail(err error) {
	if s.err == nil && !(s.stages.cancelled() && isCancel(err)) {
		s.err = err
	}
}

// lose ends the search when its trials cannot be kept, if that is so. What is
// known by then is the result.
func (s *search) lose(err error) {
	if err != nil && s.lost == nil {
		s.lost = err
		s.end(CacheFailed)
	}
}

// take accepts what a compiler finished. A configuration that does not compile
// is a finished trial; others wait for the device in the order in which they were begun:
// what was compiled first is not what promises most.
func (s *search) take(j job) {
	switch {
	case s.dropped:
	case j.err != nil:
		s.fail(j.err)
	case j.trial.Status != "":
		s.record(j)
	default:
		at, _ := slices.BinarySearchFunc(s.ready, j, func(a, b job) int { return cmp.Compare(s.begun[a.id], s.begun[b.id]) })
		s.ready = slices.Insert(s.ready, at, j)
	}
}

// finish accepts what the device said.
func (s *search) finish(j job) {
	if j.err != nil {
		s.fail(j.err)
		return
	}
	if j.outcome.Notice != "" {
		s.warnings = append(s.warnings, j.outcome.Notice)
	}
	j.trial = j.trial.With(j.outcome)
	s.record(j)
	s.hold(j)
}

// record enters a finished trial everywhere: the account, the strategy, the store
// and the caller's view.
func (s *search) record(j job) {
	j.trial.At = time.Now().UTC()
	s.breakdown.add(j.trial.Phases)
	s.strategy.Tell(j.id, s.enter(j.id, j.trial))
	s.watch(j.id, j.trial)
	s.lose(s.keep(j.trial))
	s.settle()
	s.considerReplayed()
	s.Evaluated(j.trial)
	s.show(s.phase)
}

// show tells the caller where the search stands.
func (s *search) show(p Phase) {
	s.phase = p
	s.Observe(s.progress())
}

// collect records what the device still finished when the search was cut short.
func (s *search) collect() {
	for j := range s.stages.evaluated {
		if j.err == nil {
			s.finish(j)
		}
	}
}

func (s *search) progress() Progress {
	planned := s.space.Len()
	if s.Budget > 0 {
		planned = min(planned, int64(s.Budget))
	}
	p := Progress{
		Phase: s.phase, Done: len(s.Trials), Planned: max(planned, int64(len(s.Trials))), Valid: s.space.Len(), Resumed: s.resumed,
		ByStatus: maps.Clone(s.ByStatus), Elapsed: time.Since(s.started), Limit: s.Time, Outlook: s.outlook,
	}
	if t := s.Best(); t != nil {
		p.Best = copyOf(*t)
	}
	if t := s.Untuned(); t != nil {
		p.Default = copyOf(*t)
	}
	return p
}

func copyOf(t trial.Trial) *trial.Trial { return &t }
