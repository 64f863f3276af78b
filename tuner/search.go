package tuner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"autotune/device"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner/final"
	"autotune/tuner/strategy"
)

// ErrNoVariant means that the search ended without finding a correct variant.
var ErrNoVariant = errors.New("no valid variant")

// search is the state of a running Search. Only one goroutine uses a search, and no other goroutine changes the
// strategy, the trials or the reason to stop (out.Stop).
type search struct {
	Options
	subject *final.Subject // the problem and the device
	can     device.Properties
	space   *space.Space

	field   *final.Field // the trials, and which of them leads
	course  *course      // decides what is tried next
	stages  *stages      // compile and evaluate
	looking looking      // estimates what is left to gain
	closing closing      // state of the finals and gates
	view    view         // shows progress

	out   Record // the result so far
	began bool   // the stages have started
	late  bool   // ended without a winner, long after the time limit
	err   error  // the error that ended the search
	lost  error  // the store's error that ended the search
}

// Search finds the fastest correct configuration of a problem on a device.
//
// Cancelling ctx ends the search early and is not an error: the Result says Interrupted and holds the trials so far. If
// no variant is correct, the error is ErrNoVariant, and the trials in the Result say what went wrong. If trials or the
// winner cannot be stored, the search ends at once and returns its Result with the error. If all workers of a pool went
// away, the error wraps device.ErrGone; the Result then says Interrupted and holds the earlier trials, if there are
// any. If the device or the compiler failed, Search returns that error and no Result.
func Search(ctx context.Context, p *operator.Problem, d device.Device, o Options) (*Result, error) {
	s, err := newSearch(ctx, p, d, o.withDefaults(p, d))
	if err != nil {
		return nil, err
	}
	err = s.run(ctx)
	s.lose(s.course.ledger.close())
	gone := errors.Is(err, device.ErrGone) && s.field.Best() != nil
	if err != nil && !gone {
		return nil, err
	}
	if gone {
		s.out.Stop = Interrupted
		s.out.warn("the search ended early: " + err.Error())
	}
	r := s.result()
	switch {
	case gone:
		return r, err
	case s.lost != nil:
		return r, s.lost
	case r.Winner != nil:
		return r, s.crown(r)
	case r.Stop == Interrupted:
		return r, nil
	}
	return r, fmt.Errorf("%s: %w", p, r.noVariant(s.Options, s.late, s.stages.open))
}

// run runs the search. The search tries configurations until there is a reason to stop and no work under way, while the
// stages compile and evaluate. When no work is left, the judge runs the finals and the gates. If the device or the
// compiler fails, run returns that error.
func (s *search) run(ctx context.Context) error {
	start := time.Now()
	s.considerKnown()
	if s.ended() && s.recall() {
		s.closing.awaitMode(ctx, s)
		s.compare(ctx)
		return s.err
	}
	s.began = true
	s.prepareRivals(ctx)
	s.stages.start(ctx)
	deadline, look := timers(s.Options, start, !s.can.Compiles)
	prospects := make(chan strategy.Prospect, 1)
	var hope, last <-chan time.Time // end of the wait for low estimates, and for a winner
	idle := time.NewTicker(policy.progressInterval)
	defer idle.Stop()
	if s.can.Compiles {
		s.view.show(Preparing)
	}
	for s.feed() {
		toDevice, next := s.stages.next(s.waits)
		next.best = s.field.BestMS()
		select {
		case toDevice <- next:
			s.stages.sent()
		case o := <-s.stages.opened:
			s.open(o)
		case j := <-s.stages.compiled:
			s.take(j)
		case j := <-s.stages.evaluated:
			s.stages.onDevice--
			s.finish(j)
		case <-deadline:
			s.end(TimeSpent)
			grace := max(s.Time, policy.leastGrace)
			hope, last = time.After(grace/2), time.After(grace)
		case <-hope:
			s.looking.hoped = true
			s.cutShort()
		case <-last:
			if s.late = s.field.Best() == nil; s.late {
				s.stages.cancel()
			}
		case <-idle.C:
			s.view.show(s.view.phase)
		case <-look:
			if s.looking.due(len(s.course.outcomes), policy.outlookNews) {
				work := s.looking.ask(slices.Clone(s.course.outcomes), s.field.BestMS())
				s.stages.group.Go(func() { prospects <- work() })
			}
		case p := <-prospects:
			s.consider(p)
		case c := <-s.Mode:
			s.settleMode(c)
		case <-ctx.Done():
			s.end(Interrupted)
		}
	}
	if s.err == nil && s.out.Stop != Interrupted && s.out.Stop != CacheFailed && !s.late {
		s.err = s.closing.settleWinner(ctx, s)
	}
	s.stages.close()
	for j := range s.stages.evaluated { // evaluations that ended after the search was cut short
		if j.err == nil {
			s.finish(j)
		}
	}
	s.compare(ctx)
	spent := &s.out.Spent
	s.out.Seconds = time.Since(start).Seconds()
	evaluating := (spent.Verify + spent.Measure) / float64(s.stages.devices())
	spent.Wait = max(0, s.out.Seconds-spent.Open-evaluating-spent.Finals)
	if ctx.Err() != nil && isCancel(s.err) {
		s.end(Interrupted)
		return nil
	}
	return s.err
}

func isCancel(err error) bool {
	return err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// timers returns two channels: one for a search's deadline, which leaves time for the finals and gates, and one for the
// ticks at which a search with a target estimates its outlook. The channel of the deadline is nil for a search without
// a time limit, and the channel of the ticks is nil for a search without a target.
func timers(o Options, start time.Time, replayed bool) (deadline, look <-chan time.Time) {
	if o.Time > 0 {
		deadline = time.After(time.Until(start.Add(o.Time - final.Reserve(o.Time))))
	}
	if o.Target > 0 && !replayed {
		look = time.Tick(policy.outlookInterval)
	}
	return deadline, look
}

// feed gives configurations to free compilers, but only as many as let the strategy base its proposals on recent
// outcomes. feed reports whether there is anything to wait for.
func (s *search) feed() bool {
	st := s.stages
	st.staff()
	st.leaveOut(s.course.setAside)
	for !s.ended() && st.room(s.out.Spent) {
		id, ok := s.course.next()
		if !ok {
			if st.underWay() == 0 {
				s.end(StrategyEnd)
			}
			break
		}
		s.course.begin(id)
		st.begin(id, s.course.begun[id])
	}
	return s.err == nil && s.out.Stop != Interrupted && !s.late && (!st.open || st.underWay() > 0 || s.out.Stop == "")
}

func (s *search) ended() bool {
	begun := len(s.field.Trials) + s.stages.underWay()
	switch {
	case s.out.Stop != "":
	case int64(begun) >= s.space.Len():
		s.end(Exhausted)
	case s.Budget > 0 && begun >= s.Budget:
		s.end(BudgetSpent)
	}
	return s.out.Stop != ""
}

// end ends the search and stores the reason. The first reason to stop remains, unless a later reason also drops the
// configurations under way.
func (s *search) end(why Stop) {
	if s.out.Stop == "" || why == Interrupted || why == TimeSpent || why == CacheFailed {
		s.out.Stop = why
	}
	s.cutShort()
}

// cutShort drops the work under way when a search with a winner ends early. After the time limit, the search still
// waits for variants with estimates clearly below those of all correct variants.
func (s *search) cutShort() {
	hasty := slices.Contains([]Stop{TimeSpent, Satisfied, AtRoofline, CacheFailed}, s.out.Stop)
	hopes := s.out.Stop == TimeSpent && s.looking.promises(s.stages.begun, s.course.worked)
	if hasty && s.began && !s.stages.dropped && s.field.Best() != nil && !hopes {
		s.stages.dropAll()
	}
}

// waits reports whether a compiled configuration should wait for configurations under way whose estimates are clearly
// lower. If a fast variant is evaluated first, slow variants are soon found to be slower and get few samples. Among all
// variants, the untuned default may be especially slow: one launch of it can take as long as many other trials.
func (s *search) waits(id int64) bool {
	worked := s.course.worked
	early := len(worked) == 0 || s.field.IsUntuned(id) && len(worked) < policy.likely
	return early && s.looking.promises(s.stages.begun, []int64{id})
}

// fail ends the search with an error, unless the error only comes from cancelling the search.
func (s *search) fail(err error) {
	if s.err == nil && !(s.stages.cancelled() && isCancel(err)) {
		s.err = err
	}
}

// lose ends the search if err says that trials cannot be stored; the result holds the trials up to that error.
func (s *search) lose(err error) {
	if err != nil && s.lost == nil {
		s.lost = err
		s.end(CacheFailed)
	}
}

func (s *search) open(o opening) {
	s.stages.open, s.view.phase = true, Searching
	s.out.Spent.Open = o.took.Seconds()
	s.fail(o.err)
	if o.err == nil {
		s.stages.session, s.out.Ceilings = o.session, o.session.Ceilings()
	}
	s.out.Ceilings = withBaselines(s.out.Ceilings, s.Baselines)
	s.subject.Ceilings = s.out.Ceilings
}

// take receives a job from a compiler, with either a variant or the failure of the compilation. A configuration that
// does not compile gets a trial whose status says so.
func (s *search) take(j job) {
	s.stages.compiling--
	switch {
	case s.stages.dropped:
	case j.err != nil:
		s.fail(j.err)
	case j.trial.Status != "":
		s.record(j)
	default:
		s.stages.await(j)
	}
}

func (s *search) finish(j job) {
	if j.err != nil {
		s.fail(j.err)
		return
	}
	if j.outcome.Notice != "" {
		s.out.warn(j.outcome.Notice)
	}
	j.trial = j.trial.With(j.outcome)
	s.record(j)
	s.closing.hold(s.field, j)
}

// record adds a finished trial to the field, the strategy, the store and the user's view.
func (s *search) record(j job) {
	j.trial.At = time.Now().UTC()
	delete(s.stages.begun, j.id)
	s.out.Spent.add(j.trial.Phases)
	s.course.tell(j.id, j.trial)
	s.course.watch(j.id, j.trial)
	s.lose(s.course.ledger.keep(j.trial))
	s.cutShort()
	// A replay estimates the remaining gain after fixed numbers of trials, so that replays are repeatable.
	if s.Target > 0 && !s.can.Compiles && s.looking.due(len(s.course.outcomes), policy.replayedNews) {
		s.consider(s.looking.ask(s.course.outcomes, s.field.BestMS())())
	}
	s.Evaluated(j.trial)
	s.view.show(s.view.phase)
}
