package family

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"autotune/device"
	"autotune/internal/lists"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner"
	"autotune/tuner/batch"
	"autotune/tuner/devices"
	"autotune/tuner/final"
	"autotune/tuner/store"
)

// Options are what tuning a family needs beside its plan. All functions may be nil.
type Options struct {
	Search      tuner.Options // of every search; Time is the most that one takes
	MaxSlowdown float64       // that is allowed at a sample against its own best
	Budget      time.Duration // of the whole family, kept as well as can be; 0: no limit
	Store       func() (*store.Store, error)
	Run         *batch.Run // remembers what was searched and timed
	Tool        string
	Notice      func(string)   // what a user may not expect
	Progress    func(Progress) // after each step
}

// Progress is where a family stands.
type Progress struct {
	Step  string // that was done last
	Done  int
	Of    int           // steps
	Known bool          // an earlier process had done it
	Left  time.Duration // until all is done; 0: not known
}

// tuning is one Tune, or one Check: what its parts share. A search finds candidates, a bench times them.
type tuning struct {
	Options
	plan    Plan
	opener  opener
	clock   clock
	leftOut []LeftOut
	fault   error // why the first of them failed for no reason of its own
}

type opener interface {
	Open(context.Context, *operator.Operator, operator.Request) (*devices.Opened, error)
}

func newTuning(opener opener, p Plan, o Options) *tuning {
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	c := clock{started: time.Now(), budget: o.Budget, say: o.Progress}
	return &tuning{Options: o, plan: p, opener: opener, clock: c}
}

// Tune finds the kernels of a family and what chooses among them. A tune that ended early goes on where it was, with
// the same run and store. Errors are those of batch.Search, or a device's.
func Tune(ctx context.Context, opener *devices.Opener, p Plan, o Options) (*Family, error) {
	t := newTuning(opener, p, o)
	if err := t.begin(ctx); err != nil {
		return nil, err
	}
	found := searched{own: map[string]space.Configuration{}, tried: map[string][]tried{}}
	if err := t.search(ctx, opener, &found); err != nil {
		return nil, err
	}
	return t.settle(ctx, found)
}

// settle makes the family of what the searches found: candidates, their times, entries, a tree. An entry that fails at
// a shape that was held out is out, and others are chosen.
func (t *tuning) settle(ctx context.Context, found searched) (*Family, error) {
	b := &bench{tuning: t, own: found.own}
	var err error
	if b.candidates, err = t.gather(ctx, found); err != nil {
		return nil, err
	}
	all := lists.Places(len(b.candidates))
	if b.samples, err = b.timeAll(ctx, t.plan.Samples, all); err != nil {
		return nil, err
	}
	if n := len(b.samples); n < policy.leastSamples {
		return nil, t.noneLeft(" at %d of %d samples, and a family has %d at least",
			len(t.plan.Samples)-n, len(t.plan.Samples), policy.leastSamples)
	}
	for {
		chosen, err := b.choose(ctx)
		if err != nil {
			return nil, err
		}
		if b.heldOut, err = b.timeAll(ctx, t.plan.HeldOut, chosen); err != nil {
			return nil, err
		}
		if b.dismiss(b.heldOut) == 0 {
			return b.document(ctx, chosen)
		}
	}
}

// begin opens the device, leaves out the shapes that it cannot have, and counts what there is to do.
func (t *tuning) begin(ctx context.Context) error {
	samples, err := t.possible(ctx, t.plan.Samples)
	if err != nil {
		return err
	}
	if len(samples) < policy.leastSamples {
		return t.noneLeft(": %d of %d samples are possible on the device, and a family has %d at least",
			len(samples), len(t.plan.Samples), policy.leastSamples)
	}
	t.plan.Samples = samples
	if t.plan.HeldOut, err = t.possible(ctx, t.plan.HeldOut); err != nil {
		return err
	}
	all := len(t.plan.Samples) + len(t.plan.HeldOut)
	t.clock.left = [kinds]int{searches: all, owns: len(t.plan.Samples), timings: all}
	return nil
}

// possible are the shapes that the device can have. The family has the mode of the first one, since PyTorch takes
// seconds to say which.
func (t *tuning) possible(ctx context.Context, shapes [][]int64) (kept [][]int64, err error) {
	for _, shape := range shapes {
		s, err := t.subject(ctx, shape)
		var refused *operator.RequestError
		switch {
		case errors.Is(err, device.ErrMemory) || errors.As(err, &refused):
			t.leaveOut(shape, err)
			continue
		case err != nil:
			return nil, err
		case operator.AutoMath(t.plan.Request.Math):
			r := s.Problem.Record()
			t.plan.Request.Math, t.plan.Request.MathBy = r.Math, r.MathBy
		}
		kept = append(kept, shape)
	}
	return kept, nil
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

// leaveOut leaves out a shape that failed, and remembers the first failure that is not about a shape or its kernels.
func (t *tuning) leaveOut(shape []int64, err error) {
	t.leftOut = append(t.leftOut, LeftOut{shape, err.Error()})
	var refused *operator.RequestError
	if !errors.Is(err, tuner.ErrNoVariant) && !errors.As(err, &refused) && !errors.Is(err, device.ErrMemory) {
		t.fault = cmp.Or(t.fault, err)
	}
}

// noneLeft is the error of a family that has too few shapes left.
func (t *tuning) noneLeft(format string, args ...any) error {
	if t.fault != nil {
		return t.fault
	}
	reason := ""
	if len(t.leftOut) > 0 {
		reason = ": " + t.leftOut[0].Reason
	}
	return fmt.Errorf("%s: %w%s%s", t.plan, tuner.ErrNoVariant, fmt.Sprintf(format, args...), reason)
}
