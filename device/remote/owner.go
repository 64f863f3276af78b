package remote

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"autotune/device"
)

// Owner is a worker with its device: it does one job after another, and times its control
// between them.
type Owner struct {
	Name             string
	Device           device.Device
	Fitness          *Fitness
	Waiting, Running atomic.Int32 // jobs
	host             Host
	turn             chan struct{}          // held by who uses the device, and with it host and Fitness.Time
	left             atomic.Pointer[string] // why it has ended; nil: it has not
}

// Own takes hold of the host's device, and times its control.
func Own(ctx context.Context, name string, h Host, o JoinOptions) (*Owner, error) {
	f, err := OpenFitness(ctx, h.Device, o.ControlEvery)
	if err != nil {
		return nil, fmt.Errorf("worker %s: %w", name, err)
	}
	return &Owner{Name: name, Device: h.Device, Fitness: f, host: h, turn: make(chan struct{}, 1)}, nil
}

func (o *Owner) Beat() Beat {
	info := o.Device.Info()
	b := Beat{Worker: o.Name, Group: Group(info, o.Device.Arch()), Device: info, Arch: o.Device.Arch(), State: Ready}
	b.Waiting, b.Running = int(o.Waiting.Load()), int(o.Running.Load())
	if b.Why, b.Control = o.Fitness.State(); b.Why != "" {
		b.State = Aside
	}
	if why := o.left.Load(); why != nil {
		b.State, b.Why = Left, *why
	}
	return b
}

// Left is the worker's last sign of life, and why it is that.
func (o *Owner) Left(why error) Beat {
	text := ""
	if why != nil {
		text = why.Error()
	}
	o.left.Store(&text)
	return o.Beat()
}

// Do answers a request when it is its turn. The error wraps ErrGivenBack where the device
// has not begun, and is the device's otherwise: it can do no more.
func (o *Owner) Do(ctx context.Context, j Job) (r Response, err error) {
	o.Waiting.Add(1)
	err = o.use(ctx)
	o.Waiting.Add(-1)
	if err != nil {
		return r, fmt.Errorf("%w: %w", ErrGivenBack, err)
	}
	defer o.release()
	aside, timed := o.Fitness.State()
	if why := o.left.Load(); why != nil {
		return r, fmt.Errorf("%w: %s", ErrGivenBack, *why)
	}
	if aside != "" && !j.Only && j.Kind != Close {
		return r, fmt.Errorf("%w: it is set aside: %s", ErrGivenBack, aside)
	}
	o.Running.Add(1)
	defer o.Running.Add(-1)
	r, err = o.host.Do(ctx, j)
	if err != nil && ctx.Err() == nil {
		o.Left(err) // before the next job begins
	}
	r.Worker, r.ControlMS = o.Name, timed.LastMS
	return r, err
}

// use waits for the device, which is used by one at a time.
func (o *Owner) use(ctx context.Context) error {
	select {
	case o.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if ctx.Err() != nil {
		o.release()
		return context.Cause(ctx)
	}
	return nil
}

func (o *Owner) release() { <-o.turn }

// KeepFit times the control every now and then, until ctx ends or the control cannot be
// timed. others are those of other workers like this one. timed is told what a person
// should know, or "".
func (o *Owner) KeepFit(ctx context.Context, others func() []float64, timed func(said string)) error {
	for Pause(ctx, o.Fitness.Next()) && o.left.Load() == nil {
		all := others()
		if o.use(ctx) != nil {
			return nil
		}
		said, err := o.Fitness.Time(ctx, all)
		o.release()
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("the control: %w", err)
		}
		timed(said)
	}
	return nil
}

func (o *Owner) Sweep(ctx context.Context, gone func(key string) bool) {
	if o.use(ctx) == nil {
		defer o.release()
		o.host.Sweep(gone)
	}
}

// Close ends what the worker does with its device, which stays the caller's to close.
func (o *Owner) Close() error { return errors.Join(o.host.Close(), o.Fitness.Close()) }
