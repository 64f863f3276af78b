package family

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner/batch"
	"autotune/tuner/final"
)

// timed is what was measured at one shape, all of it side by side. The run remembers it.
type timed struct {
	Shape   []int64             `json:"shape"`
	Laps    []lap               `json:"laps"`    // of the candidates, and then of the winner made for the shape
	Made    space.Configuration `json:"made"`    // that winner
	General lap                 `json:"general"` // of the operator's plain kernel

	Candidates []int             `json:"-"`
	problem    *operator.Problem `json:"-"`
}

// lap is how a variant did at a shape.
type lap struct {
	Status  trial.Status `json:"status,omitempty"` // "": it does not serve the shape
	Message string       `json:"message,omitempty"`
	Samples []float64    `json:"samples,omitempty"` // in milliseconds
	Batch   int          `json:"batch,omitempty"`
	// MaxAbsError is the largest difference from the reference.
	MaxAbsError float64 `json:"max_abs_error,omitempty"`
}

// add takes in a round. One that fails now has failed.
func (l *lap) add(o trial.Outcome) {
	l.Status, l.Message = o.Status, o.Reason()
	if o.Status != trial.OK {
		l.Samples = nil
		return
	}
	l.Samples, l.Batch, l.MaxAbsError = append(l.Samples, o.SamplesMS...), o.Time.Batch, max(l.MaxAbsError, o.MaxAbsError)
}

func (l lap) timing() trial.Timing { return trial.Summarise(l.Samples, l.Batch) }

// ms is a lap's time, infinite if there is none.
func (l lap) ms() float64 {
	if l.Status != trial.OK || len(l.Samples) == 0 {
		return math.Inf(1)
	}
	return trial.Median(l.Samples)
}

// own is how the winner made for the shape did.
func (s *timed) own() *lap { return &s.Laps[len(s.Candidates)] }

// ms is the time of a candidate at the shape.
func (s *timed) ms(candidate int) float64 {
	at := slices.Index(s.Candidates, candidate)
	if at < 0 {
		return math.Inf(1)
	}
	return s.Laps[at].ms()
}

// ownBest is the time of the fastest kernel at the shape, made for it or not.
func (s *timed) ownBest() float64 {
	best := s.General.ms()
	for _, l := range s.Laps {
		best = min(best, l.ms())
	}
	return best
}

// entered is a shape whose variants are compiled.
type entered struct {
	*timed
	subject  final.Subject
	made     final.Subject    // the problem without free dimensions
	variants []device.Variant // as Laps has them
	file     string           // the run's name for the timings
	err      error
}

// aheadOf is how many shapes are entered before it is their turn.
const aheadOf = 8

// timeAll times candidates at shapes. While one shape is timed, the next are compiled. Shapes that were left out have no
// winner of their own.
func (t *tuning) timeAll(ctx context.Context, shapes [][]int64, candidates []int) (list []*timed, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var entering sync.WaitGroup
	defer entering.Wait()
	defer cancel()
	ready, leftOut := make(chan entered, aheadOf), slices.Clone(t.leftOut)
	entering.Go(func() {
		defer close(ready)
		for _, shape := range shapes {
			left := func(l LeftOut) bool { return slices.Equal(l.Shape, shape) }
			if _, known := t.found[key(shape, false)]; !known && slices.ContainsFunc(leftOut, left) {
				continue
			}
			select {
			case ready <- t.enter(ctx, shape, candidates):
			case <-ctx.Done():
				return
			}
		}
	})
	for one := range ready {
		s, err := t.timeNext(ctx, one)
		if err != nil {
			return nil, err
		}
		if s != nil {
			list = append(list, s)
		}
	}
	return list, ctx.Err()
}

// timeNext times candidates at the next shape; nil: it has none that is right, or no room.
func (t *tuning) timeNext(ctx context.Context, e entered) (*timed, error) {
	known, err := false, e.err
	if err == nil {
		if known, err = t.Run.Remembered(ctx, e.file, e.timed); err != nil {
			return nil, err
		}
		if known = known && len(e.Laps) == len(e.variants); !known {
			err = t.time(ctx, e)
		}
	}
	switch {
	case batch.Ends(ctx, err):
		return nil, err
	case err != nil: // a shape may be too large: its tensors are there twice, for either kind of kernels
		t.leaveOut(e.Shape, err)
		t.step(timings, operator.FormatShape(e.Shape)+" could not be timed", false)
		return nil, nil
	}
	t.step(timings, "timed "+operator.FormatShape(e.Shape), known)
	if math.IsInf(e.ownBest(), 1) {
		t.leftOut = append(t.leftOut, LeftOut{e.Shape, e.own().Message})
		return nil, nil
	}
	return e.timed, nil
}

// subject opens the device and binds the problem of a shape.
func (t *tuning) subject(ctx context.Context, shape []int64) (final.Subject, error) {
	opened, err := t.opener.Open(ctx, t.plan.Operator, t.plan.at(shape, true))
	if err != nil {
		return final.Subject{}, err
	}
	protocol := device.ProtocolFor(t.plan.Operator)
	protocol.DropRatio = max(protocol.DropRatio, t.MaxSlowdown+0.1)
	if opened.Device.Info().Kind.Properties().Measures {
		protocol.Conditions = t.Search.Conditions
	}
	return final.Subject{Problem: opened.Problem, Device: opened.Device, Protocol: protocol, Launches: final.Launches}, nil
}

// enter compiles the variants of a shape, side by side.
func (t *tuning) enter(ctx context.Context, shape []int64, candidates []int) (e entered) {
	own := t.found[key(shape, false)]
	e.timed = &timed{Shape: shape, Laps: make([]lap, len(candidates)+1), Made: own.Configuration, Candidates: candidates}
	if e.subject, e.err = t.subject(ctx, shape); e.err != nil {
		return e
	}
	p := e.subject.Problem
	e.problem = p
	request := p.Record().Request()
	request.Free = nil
	e.made = e.subject
	if e.made.Problem, e.err = p.Operator.Bind(request, p.Limits); e.err != nil {
		return e
	}
	e.variants = make([]device.Variant, len(e.Laps))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, e.subject.Device.Compiler().Workers()))
	compiled := func(i int, of final.Subject, c space.Configuration) {
		group.Go(func() (err error) {
			e.variants[i], err = of.Compile(ctx, of.Problem, c)
			var refused *compile.Error
			if errors.As(err, &refused) {
				e.Laps[i] = lap{Status: trial.CompileError, Message: trial.Outcome{Message: refused.Error()}.Reason()}
				return nil
			}
			return err
		})
	}
	group.Go(func() error {
		_, err := device.CompileReference(ctx, e.subject.Device, p, e.subject.Protocol.CompileTimeout)
		return err
	})
	for i, c := range candidates {
		if t.candidates[c].serves(p) {
			compiled(i, e.subject, t.candidates[c].Configuration)
		}
	}
	if own.Template != "" && own.Template != generalTemplate { // none was searched, or the device has timed it
		compiled(len(candidates), e.made, own.Configuration)
	}
	if e.err = group.Wait(); e.err != nil {
		return e
	}
	e.file = e.name()
	return e
}

// generalTemplate is what a document calls the general kernel.
const generalTemplate = "general"

// name is that of the shape's timings in the run. It depends on all that they depend on.
func (e *entered) name() string {
	info := e.subject.Device.Info()
	digest := sha256.New()
	fmt.Fprintf(digest, "%q %q %q %q %v", e.problem, info.Name, info.Driver, info.Compiler, e.subject.Protocol)
	for _, v := range e.variants {
		if v.Binary != nil {
			fmt.Fprint(digest, " ", v.Kernel.Digest())
		}
	}
	return fmt.Sprintf("timed-%x", digest.Sum(nil)[:8])
}

// The tree weighs all times, and few samples say little. So the first round cuts short only what takes clearly more than
// farBehind times the fastest. The second is for what a usual race would keep, or miss by a factor of nearFastest at most.
const (
	farBehind   = 1.5
	nearFastest = 1.05
)

// time times a shape's variants in rounds, the second without slow ones. The plain
// kernel was timed by the device when it was opened, once for either kind of kernels. A pack's
// general kernel is the same code, which takes its sizes when it runs.
func (t *tuning) time(ctx context.Context, e entered) error {
	subjects := []final.Subject{e.subject, e.made}
	if e.variants[len(e.Candidates)].Binary == nil {
		subjects = subjects[:1]
	}
	match, err := final.Meet(ctx, t.Search.Seed, subjects...)
	if err != nil {
		return err
	}
	for side := range subjects {
		// There is none where another template or a file says what is right.
		if o, ms := t.plan.Operator, match.Ceilings(side).ReferenceMS; ms > 0 && o.Answers == nil && o.ReferenceTemplate == "" {
			e.General.Status, e.General.Samples = trial.OK, append(e.General.Samples, ms)
		}
	}
	for _, far := range []float64{farBehind, 0} {
		var running []int
		var runners []final.Runner
		fastest := e.ownBest()
		for i, v := range e.variants {
			if v.Binary != nil && (far > 0 || e.Laps[i].ms() <= nearFastest*e.subject.Protocol.DropRatio*fastest) {
				running, runners = append(running, i), append(runners, final.Runner{Side: i / len(e.Candidates), Variant: v})
			}
		}
		outcomes, err := match.Round(ctx, runners, far)
		if err != nil {
			return errors.Join(err, match.Close())
		}
		for at, i := range running {
			e.Laps[i].add(outcomes[at])
		}
	}
	if err := match.Close(); err != nil {
		return err
	}
	return t.Run.Remember(e.file, e.timed)
}

// gateTime is what the gates of one entry may take.
const gateTime = 3 * time.Second

// gate puts candidates through the gates that no search has, at the shapes where they were found. One that fails is out.
func (t *tuning) gate(ctx context.Context, chosen []int) (failed bool, err error) {
	left := lists.Where(chosen, func(i int) bool { return t.candidates[i].Gates == nil })
	subjects := make([]final.Subject, len(left))
	for at, i := range left {
		c := &t.candidates[i]
		if subjects[at], err = t.subject(ctx, c.Shape); err != nil {
			return false, err
		}
		final.Ahead(ctx, subjects[at], c.Configuration)
	}
	for at, i := range left {
		c := &t.candidates[i]
		o, err := t.gateOne(ctx, subjects[at], c)
		if err != nil {
			return false, err
		}
		if o.Status != trial.OK {
			c.out, failed = true, true
			t.Notice(fmt.Sprintf("%s is left out: %s", c.Configuration, o.Reason()))
		}
	}
	return failed, nil
}

func (t *tuning) gateOne(ctx context.Context, s final.Subject, c *candidate) (o trial.Outcome, err error) {
	v, err := s.Compile(ctx, s.Problem, c.Configuration)
	var refused *compile.Error
	if errors.As(err, &refused) {
		return trial.Outcome{Status: trial.CompileError, Message: refused.Error()}, nil
	}
	if err != nil {
		return o, err
	}
	match, err := final.Meet(ctx, t.Search.Seed, s)
	if err != nil {
		return o, err
	}
	c.Gates, o, err = match.Gate(ctx, v, gateTime)
	return o, errors.Join(err, match.Close())
}
