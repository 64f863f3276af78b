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

// ErrNoVariant means that the search ended without one correct variant.
var ErrNoVariant = errors.New("no valid variant")

// search is one running Search. One goroutine owns it: it alone touches the strategy, the
// trials and the one reason to stop, out.Stop.
type search struct {
	Options
	subject *final.Subject // the problem and the device
	can     device.Properties
	space   *space.Space

	field   *final.Field // the trials, and which of them leads
	course  *course      // what is tried next
	stages  *stages      // compilers and the device
	looking looking      // what may be left to gain
	closing closing      // what makes sure of the winner
	view    view         // what the user sees

	out   Record // the outcome, as far as it is known
	began bool   // the stages work
	late  bool   // far beyond its time without a winner: given up
	err   error  // ended the search
	lost  error  // ended it, too: the store cannot keep trials
}

// Search finds the fastest correct configuration of a problem on a device.
//
// Cancelling ctx ends the search early and is not an error: the Result says Interrupted and holds what was found so
// far. ErrNoVariant comes with a Result, too, whose trials say what went wrong. So does the error of a store that could
// not keep them: the search ends there. An error that wraps device.ErrGone comes with what was found before the workers
// went, if that is anything: the Result says Interrupted. Any other error means that the device or the compiler could
// not go on.
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

// run is the search. It tries configurations until there is a reason to stop and nothing is under
// way. Then the judge runs the finals and the gates. The stages around it compile and evaluate. A
// device or compiler that cannot go on ends it with that error.
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
	var hope, last <-chan time.Time // until when to wait for variants with clearly lower estimates, and for a winner
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
	for j := range s.stages.evaluated { // what the device still finished when the search was cut short
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

// timers are a search's time limit, less what the judge needs, and the ticks at which a search with
// a target asks for the outlook; nil without a limit or target.
func timers(o Options, start time.Time, replayed bool) (deadline, look <-chan time.Time) {
	if o.Time > 0 {
		deadline = time.After(time.Until(start.Add(o.Time - final.Reserve(o.Time))))
	}
	if o.Target > 0 && !replayed {
		look = time.Tick(policy.outlookInterval)
	}
	return deadline, look
}

// feed gives configurations to free compilers, but not so many that the strategy proposes too far
// ahead of its outcomes. It tells whether there is anything to wait for.
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

// end sets the reason to stop. The first one stays, unless a later one also cuts short what is under way.
func (s *search) end(why Stop) {
	if s.out.Stop == "" || why == Interrupted || why == TimeSpent || why == CacheFailed {
		s.out.Stop = why
	}
	s.cutShort()
}

// cutShort drops what is under way when the search is at its end and has a winner: it is not worth waiting for, unless
// the time is up and estimates are clearly lower than of all that worked.
func (s *search) cutShort() {
	hasty := slices.Contains([]Stop{TimeSpent, Satisfied, AtRoofline, CacheFailed}, s.out.Stop)
	hopes := s.out.Stop == TimeSpent && s.looking.promises(s.stages.begun, s.course.worked)
	if hasty && s.began && !s.stages.dropped && s.field.Best() != nil && !hopes {
		s.stages.dropAll()
	}
}

// waits tells whether a compiled configuration should wait for others under way with clearly lower
// estimates. One of those should be evaluated first: racing against it, slow ones are soon dropped.
// The untuned default may be so slow that its only launch takes the time of many others.
func (s *search) waits(id int64) bool {
	worked := s.course.worked
	early := len(worked) == 0 || s.field.IsUntuned(id) && len(worked) < policy.likely
	return early && s.looking.promises(s.stages.begun, []int64{id})
}

// fail ends the search with an error, if there is one that giving up the whole search has not caused.
func (s *search) fail(err error) {
	if s.err == nil && !(s.stages.cancelled() && isCancel(err)) {
		s.err = err
	}
}

// lose ends the search if err says that its trials cannot be kept. The result is what is known by then.
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

// take accepts what a compiler finished. A configuration that does not compile is a finished trial.
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

// record enters a finished trial everywhere: the field, the strategy, the store and the caller's view.
func (s *search) record(j job) {
	j.trial.At = time.Now().UTC()
	delete(s.stages.begun, j.id)
	s.out.Spent.add(j.trial.Phases)
	s.course.tell(j.id, j.trial)
	s.course.watch(j.id, j.trial)
	s.lose(s.course.ledger.keep(j.trial))
	s.cutShort()
	// A replay is asked after fixed numbers of trials, so that it is repeatable.
	if s.Target > 0 && !s.can.Compiles && s.looking.due(len(s.course.outcomes), policy.replayedNews) {
		s.consider(s.looking.ask(s.course.outcomes, s.field.BestMS())())
	}
	s.Evaluated(j.trial)
	s.view.show(s.view.phase)
}
