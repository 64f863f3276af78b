package poolworker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/device/pool/wire"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// What the control is: the default configuration of a built-in operator, on a problem
// that a GPU takes a tenth of a millisecond for; on a tiny one where times say nothing
// about a GPU.
const controlOperator = "max_pool2d"

var (
	controlShape     = []int64{1, 64, 512, 512}
	tinyControlShape = []int64{1, 1, 8, 8}
)

// When a worker is set aside: its control takes so many times as long, or as short, as
// at its start, or as long as the other workers' of its model, as often one after the other.
const (
	controlDrift = 1.03
	controlApart = 1.05
	controlTimes = 2
)

// control is the variant by which a worker is compared with itself over time, and with
// others.
type control struct {
	session device.Session
	variant device.Variant
	first   trial.Timing
	off     int // how often it was off, one after the other
}

// openControl prepares the control and times it, the second time for the record: the
// first wakes the device up.
func (w *worker) openControl(ctx context.Context) error {
	o, err := operator.Find(controlOperator)
	if err != nil {
		return err
	}
	shape, proto := controlShape, device.ProtocolFor(o)
	proto.MeasureTime = 50 * time.Millisecond
	if !w.can.Measures {
		shape, proto.Samples = tinyControlShape, 3
	}
	p, err := o.Bind(operator.Request{Shape: shape}, w.device.Info().Limits)
	if err != nil {
		return err
	}
	all := p.Defaults(ctx)
	if len(all) == 0 {
		return fmt.Errorf("%s has no default here", p)
	}
	c := &w.control
	c.variant = device.Variant{Configuration: all[0], Look: true}
	if c.variant.Kernel, err = p.Kernel(all[0]); err != nil {
		return err
	}
	reference, err := p.Reference()
	if err != nil {
		return err
	}
	compiler, arch := w.device.Compiler(), w.device.Arch()
	if c.variant.Binary, err = compiler.Compile(ctx, compile.Request{Kernel: c.variant.Kernel, Arch: arch}); err != nil {
		return err
	}
	binary, err := compiler.Compile(ctx, compile.Request{Kernel: reference, Arch: arch})
	if err != nil {
		return err
	}
	if c.session, err = w.device.Open(ctx, p, binary, proto); err != nil {
		return err
	}
	w.sessions.open[""] = &session{Session: c.session, bytes: 2 * p.MemoryBytes(), used: 1 << 62} // it is never the oldest
	if _, err := c.session.Evaluate(ctx, c.variant, 0); err != nil {
		return err
	}
	return w.timeControl(ctx)
}

// soonerWhenOff is how many times sooner a control is timed again that is off.
const soonerWhenOff = 10

// untilControl is the time until the control is timed next.
func (w *worker) untilControl() time.Duration {
	if w.control.off > 0 {
		return w.ControlEvery / soonerWhenOff
	}
	return w.ControlEvery
}

// timeControl times the control, and sets the worker aside or takes it back.
func (w *worker) timeControl(ctx context.Context) error {
	o, err := w.control.session.Evaluate(ctx, w.control.variant, 0)
	if err != nil {
		return fmt.Errorf("the control: %w", err)
	}
	if w.control.first.Samples == 0 && o.Status == trial.OK {
		w.control.first = o.Time
	}
	fault, sure := w.control.fault(o, w.can.Measures, w.others(ctx))
	w.control.off++
	if fault == "" {
		w.control.off = 0
	}
	if fault != "" && !sure && w.control.off < controlTimes {
		return nil // once is no reason
	}
	w.mu.Lock()
	was := w.aside
	w.aside = fault
	w.timed = wire.Control{FirstMS: w.control.first.Median, LastMS: o.Time.Median, At: time.Now().UTC()}
	w.mu.Unlock()
	switch {
	case fault != "" && was == "":
		w.Say("set aside: " + fault)
	case fault == "" && was != "":
		w.Say("takes jobs again")
	}
	return nil
}

// fault says what is wrong with the worker by what its control did; "" if nothing is.
// Of some things one look is not sure.
func (c *control) fault(o trial.Outcome, measures bool, others []float64) (fault string, sure bool) {
	if o.Status != trial.OK {
		return fmt.Sprintf("its control ended as %s: %s", o.Status, o.Reason()), true
	}
	if !measures {
		return "", true
	}
	for _, warning := range o.Warnings {
		if warning.Kind == trial.Throttled || warning.Kind == trial.OtherProcess {
			return warning.String(), false
		}
	}
	now, first := o.Time.Median, c.first.Median
	overlaps := o.Time.Reaches(c.first) && c.first.Reaches(o.Time)
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

// mostOthers is of how many others a worker looks at the controls: each of hundreds would
// ask for those of all otherwise.
const mostOthers = 16

// others are the controls of workers that are like this one and take jobs.
func (w *worker) others(ctx context.Context) []float64 {
	limited, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
	keys, err := w.Workers.ListKeys(limited)
	if err != nil {
		return nil
	}
	var names []string
	for key := range keys.Keys() {
		names = append(names, key)
	}
	rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	var all []float64
	for _, key := range names {
		if len(all) == mostOthers {
			break
		}
		entry, err := w.Workers.Get(limited, key)
		if err != nil || key == w.Name {
			continue
		}
		if b, err := wire.Decode[wire.Beat](entry.Value()); err == nil && b.Group == w.group && b.State == wire.Ready && b.Control.LastMS > 0 {
			all = append(all, b.Control.LastMS)
		}
	}
	return all
}
