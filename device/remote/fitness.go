package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/operator"
)

// The control is the default configuration of a built-in operator: on a problem that a GPU
// takes a tenth of a millisecond for, or on a tiny one where times say nothing about a GPU.
const controlOperator = "max_pool2d"

var (
	controlShape     = []int64{1, 64, 512, 512}
	tinyControlShape = []int64{1, 1, 8, 8}
)

// A worker is set aside if one of these is seen so many times in a row. Its control takes longer or
// shorter than at its start by this factor, or longer than that of other workers like it by this
// factor.
const (
	controlDrift = 1.03
	controlApart = 1.05
	controlTimes = 2
)

// usualControl is the time between two controls. After one that is off, the next comes sooner by
// the factor soonerWhenOff.
const (
	usualControl  = 30 * time.Second
	soonerWhenOff = 10
)

// Fitness tells whether a device is fit for use: it times a fixed variant now and then, the
// control. Only the goroutine that uses the device may call Time; any may call State.
type Fitness struct {
	every    time.Duration
	measures bool
	session  device.Session
	variant  device.Variant
	first    trial.Timing
	off      int // how often it was off, in a row

	mu    sync.Mutex
	aside string // why the worker takes no jobs; "": it does
	timed Control
}

// OpenFitness prepares a device's control and times it. every is the time between two of
// them; 0: half a minute.
func OpenFitness(ctx context.Context, d device.Device, every time.Duration) (*Fitness, error) {
	f := &Fitness{every: every, measures: d.Info().Kind.Properties().Measures}
	f.every = cmp.Or(f.every, usualControl)
	err := f.open(ctx, d)
	if err == nil { // the first wakes the device up, and the second is for the record
		_, err = f.session.Evaluate(ctx, f.variant, 0)
	}
	if err == nil {
		_, err = f.Time(ctx, nil)
	}
	if err != nil {
		err = fmt.Errorf("the control: %w", err)
		if f.session != nil {
			err = errors.Join(err, f.session.Close())
		}
		return nil, err
	}
	return f, nil
}

func (f *Fitness) open(ctx context.Context, d device.Device) error {
	o, err := operator.Find(controlOperator)
	if err != nil {
		return err
	}
	shape, proto := controlShape, device.ProtocolFor(o)
	proto.MeasureTime = 50 * time.Millisecond
	if !f.measures {
		shape, proto.Samples = tinyControlShape, 3
	}
	p, err := o.Bind(operator.Request{Shape: shape}, d.Info().Limits)
	if err != nil {
		return err
	}
	all := p.Defaults(ctx)
	if len(all) == 0 {
		return fmt.Errorf("%s has no default here", p)
	}
	f.variant = device.Variant{Configuration: all[0], Look: true}
	if f.variant.Kernel, err = p.Kernel(all[0]); err != nil {
		return err
	}
	reference, err := p.Reference()
	if err != nil {
		return err
	}
	if f.variant.Binary, err = d.Compiler().Compile(ctx, compile.Request{Kernel: f.variant.Kernel, Arch: d.Arch()}); err != nil {
		return err
	}
	binary, err := d.Compiler().Compile(ctx, compile.Request{Kernel: reference, Arch: d.Arch()})
	if err == nil {
		f.session, err = d.Open(ctx, p, binary, proto)
	}
	return err
}

func (f *Fitness) Close() error { return f.session.Close() }

func (f *Fitness) Next() time.Duration {
	if f.off > 0 {
		return f.every / soonerWhenOff
	}
	return f.every
}

// State says why the worker takes no jobs, "" if it does, and what its control took.
func (f *Fitness) State() (aside string, timed Control) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.aside, f.timed
}

// Time times the control. It sets the worker aside, or takes it back; said is what to tell
// a person of that. others are what the control takes other workers.
func (f *Fitness) Time(ctx context.Context, others []float64) (said string, err error) {
	o, err := f.session.Evaluate(ctx, f.variant, 0)
	if err != nil {
		return "", err
	}
	if f.first.Samples == 0 && o.Status == trial.OK {
		f.first = o.Time
	}
	fault, sure := f.fault(o, others)
	f.off++
	if fault == "" {
		f.off = 0
	}
	if fault != "" && !sure && f.off < controlTimes {
		return "", nil // once is no reason
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.aside
	f.aside, f.timed = fault, Control{FirstMS: f.first.Median, LastMS: o.Time.Median, At: time.Now().UTC()}
	switch {
	case fault != "" && was == "":
		return "set aside: " + fault, nil
	case fault == "" && was != "":
		return "takes jobs again", nil
	}
	return "", nil
}

// fault says what is wrong with the worker, by its control; "" if nothing is. Some faults must be
// seen more than once.
func (f *Fitness) fault(o trial.Outcome, others []float64) (fault string, sure bool) {
	if o.Status != trial.OK {
		return fmt.Sprintf("its control ended as %s: %s", o.Status, o.Reason()), true
	}
	if !f.measures {
		return "", true
	}
	for _, warning := range o.Warnings {
		if warning.Kind == trial.Throttled {
			return warning.String(), false
		}
	}
	now, first := o.Time.Median, f.first.Median
	overlaps := o.Time.Reaches(f.first) && f.first.Reaches(o.Time)
	if max(now, first) > controlDrift*min(now, first) && !overlaps {
		return fmt.Sprintf("its control takes %.4g ms, and took %.4g ms at its start", now, first), false
	}
	slices.Sort(others)
	if len(others) > 0 {
		if usual := others[(len(others)-1)/2]; now > controlApart*usual {
			return fmt.Sprintf("its control takes %.4g ms, that of other workers like it %.4g ms", now, usual), false
		}
	}
	return "", true
}
