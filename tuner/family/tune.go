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

// Options configure the tuning of a family. The fields Store and Progress may be nil.
type Options struct {
	Search      tuner.Options // options of every search; Time limits each one
	MaxSlowdown float64       // largest slowdown allowed at a sample against its own best
	Budget      time.Duration // approximate time for the whole family; 0: no limit
	Store       func() (*store.Store, error)
	Tool        string
	Notice      func(string)                    // tells the user about unexpected events
	Progress    func(step string, done, of int) // called after each step
}

// tuning is the shared state of one call of Tune or Check.
type tuning struct {
	Options
	Plan
	open    opening
	started time.Time
	done    int // number of finished steps
	leftOut []LeftOut
	fault   error // first error that is not about a shape or its kernels

	own              map[string]space.Configuration // winners of the searches with fixed dimensions, by shape
	tried            map[string][]tried             // correct configurations of each search, by key, the fastest first
	candidates       []candidate
	samples, heldOut []*timed
}

type opening func(context.Context, *operator.Operator, operator.Request) (*devices.Opened, error)

func newTuning(open opening, p Plan, o Options) *tuning {
	own, all := map[string]space.Configuration{}, map[string][]tried{}
	return &tuning{Options: o, Plan: p, open: open, started: time.Now(), own: own, tried: all}
}

// step counts a finished step of the tuning, and calls Progress with its description. Progress counts three steps
// for each sample, and two for each held-out shape.
func (t *tuning) step(what string) {
	if t.done++; t.Progress != nil {
		t.Progress(what, t.done, max(t.done, 3*len(t.Samples)+2*len(t.HeldOut)))
	}
}

// remaining returns how much time is left if the given part of the whole budget is reserved.
func (t *tuning) remaining(part float64) time.Duration {
	return max(1, t.Budget-time.Since(t.started)-time.Duration(part*float64(t.Budget)))
}

// Tune finds the kernels of a family and the tree that chooses among them. Tune returns the errors of batch.Search and
// of devices.
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

// settle makes the family from the results of its searches: it times the candidates, chooses entries and grows the
// tree. If an entry fails at a gate or at a held-out shape, settle excludes that entry and chooses entries again.
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

// begin opens the device and fixes the family's math mode, which is that of the first sample that fits the device.
// begin asks PyTorch about the math mode for this sample only, since PyTorch takes seconds to answer.
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

// ofShape reports whether an error concerns a single shape, rather than the device or the operator.
func ofShape(err error) bool {
	var refused *operator.RequestError
	return errors.Is(err, device.ErrMemory) || errors.As(err, &refused)
}

// leaveOut records that a shape failed. The first error that concerns the device or the operator, rather than a single
// shape, is stored in t.fault.
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

// noneLeft returns the error of a family that has no kernels or too few shapes.
func (t *tuning) noneLeft(why string) error {
	if t.fault != nil {
		return t.fault
	}
	if len(t.leftOut) > 0 {
		why += ": " + t.leftOut[0].Reason
	}
	return fmt.Errorf("%s: %w: %s", t.Plan, tuner.ErrNoVariant, why)
}
