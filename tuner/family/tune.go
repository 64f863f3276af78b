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

// Options are what tuning a family needs beside its plan. Store and Progress may be nil.
type Options struct {
	Search      tuner.Options // of every search; Time is the most that one takes
	MaxSlowdown float64       // that is allowed at a sample against its own best
	Budget      time.Duration // of the whole family, kept as well as can be; 0: no limit
	Store       func() (*store.Store, error)
	Tool        string
	Notice      func(string)                    // what a user may not expect
	Progress    func(step string, done, of int) // after each step
}

// tuning is one Tune, or one Check: what its parts share.
type tuning struct {
	Options
	Plan
	open    opening
	started time.Time
	done    int // steps
	leftOut []LeftOut
	fault   error // why the first of them failed for no reason of its own

	own              map[string]space.Configuration // winners made for a shape, by shape
	tried            map[string][]tried             // correct configurations of a sample, by key: the fastest first
	candidates       []candidate
	samples, heldOut []*timed
}

type opening func(context.Context, *operator.Operator, operator.Request) (*devices.Opened, error)

func newTuning(open opening, p Plan, o Options) *tuning {
	own, all := map[string]space.Configuration{}, map[string][]tried{}
	return &tuning{Options: o, Plan: p, open: open, started: time.Now(), own: own, tried: all}
}

// step counts a step and says what it was. Each sample is searched twice and timed, and each shape held out once.
func (t *tuning) step(what string) {
	if t.done++; t.Progress != nil {
		t.Progress(what, t.done, max(t.done, 3*len(t.Samples)+2*len(t.HeldOut)))
	}
}

// remaining is what is left of the budget when a part of it is held back.
func (t *tuning) remaining(part float64) time.Duration {
	return max(1, t.Budget-time.Since(t.started)-time.Duration(part*float64(t.Budget)))
}

// Tune finds the kernels of a family and what chooses among them. Errors are those of batch.Search, or a device's.
func Tune(ctx context.Context, opener *devices.Opener, p Plan, o Options) (*Family, error) {
	t := newTuning(opener.Open, p, o)
	if err := t.begin(ctx); err != nil {
		return nil, err
	}
	if err := t.search(ctx, opener); err != nil {
		return nil, err
	}
	return t.settle(ctx)
}

// settle makes the family of what the searches found: candidates, their times, entries, a tree. An entry that fails at
// a gate, or at a shape that was held out, is out, and others are chosen.
func (t *tuning) settle(ctx context.Context) (_ *Family, err error) {
	if t.candidates, err = t.gather(ctx); err != nil {
		return nil, err
	}
	if t.samples, err = t.timeAll(ctx, t.Samples, t.all()); err != nil {
		return nil, err
	}
	if n := len(t.samples); n < policy.leastSamples {
		return nil, t.noneLeft(fmt.Sprintf("%d of %d samples have times, and a family has %d at least",
			n, len(t.Samples), policy.leastSamples))
	}
	t.dismiss(t.samples)
	for {
		chosen := t.choose()
		if chosen == nil {
			return nil, fmt.Errorf("%s: %w: every kernel that takes %v when it runs fails", t.Plan, tuner.ErrNoVariant, t.Free)
		}
		failed, err := t.gate(ctx, chosen)
		if err == nil && !failed {
			t.heldOut, err = t.timeAll(ctx, t.HeldOut, chosen)
			failed = t.dismiss(t.heldOut)
		}
		if err != nil {
			return nil, err
		}
		if !failed {
			return t.document(chosen)
		}
	}
}

// begin opens the device. The family has the math mode of the first shape that the device can have, since PyTorch takes
// seconds to say which.
func (t *tuning) begin(ctx context.Context) error {
	for _, shape := range t.Samples {
		s, err := t.subject(ctx, shape)
		switch {
		case ofShape(err):
			t.leaveOut(shape, err)
			continue
		case err != nil:
			return err
		case !s.Device.Info().Kind.Properties().Compiles:
			return fmt.Errorf("%s runs no kernels, and a family is timed; use a GPU or the emulator", s.Device.Info().Name)
		}
		t.Math, t.MathBy = s.Problem.Math, s.Problem.MathBy
		return nil
	}
	return t.noneLeft("no sample is possible on the device")
}

func (t *tuning) subject(ctx context.Context, shape []int64) (final.Subject, error) {
	opened, err := t.open(ctx, t.Operator, t.at(shape, true))
	if err != nil {
		return final.Subject{}, err
	}
	protocol := device.ProtocolFor(t.Operator)
	protocol.DropRatio = max(protocol.DropRatio, t.MaxSlowdown+0.1)
	if opened.Device.Info().Kind.Properties().Measures {
		protocol.Conditions = t.Search.Conditions
	}
	return final.Subject{Problem: opened.Problem, Device: opened.Device, Protocol: protocol, Launches: final.Launches}, nil
}

// ofShape tells whether an error is about a shape, and not about the device or the operator.
func ofShape(err error) bool {
	var refused *operator.RequestError
	return errors.Is(err, device.ErrMemory) || errors.As(err, &refused)
}

// leaveOut leaves out a shape that failed, and remembers the first failure that is not about a shape or its kernels.
func (t *tuning) leaveOut(shape []int64, err error) {
	if !t.lacks(shape) {
		t.leftOut = append(t.leftOut, LeftOut{shape, err.Error()})
	}
	if !errors.Is(err, tuner.ErrNoVariant) && !errors.Is(err, batch.ErrNoTime) && !ofShape(err) {
		t.fault = cmp.Or(t.fault, err)
	}
}

func (t *tuning) lacks(shape []int64) bool {
	return has(lists.Of(t.leftOut, func(l LeftOut) []int64 { return l.Shape }), shape)
}

// noneLeft is the error of a family without kernels, or with too few shapes.
func (t *tuning) noneLeft(why string) error {
	if t.fault != nil {
		return t.fault
	}
	if len(t.leftOut) > 0 {
		why += ": " + t.leftOut[0].Reason
	}
	return fmt.Errorf("%s: %w: %s", t.Plan, tuner.ErrNoVariant, why)
}
