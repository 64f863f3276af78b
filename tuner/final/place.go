package final

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"autotune/device"
	"autotune/device/trial"
)

// place is the device on which the finals and the gates run. In a pool of workers, the finals and the gates run on
// one worker, since times of two workers cannot be compared.
type place struct {
	worker  string // "": the device is one
	device  device.Device
	session device.Session
	own     bool          // whether place opened the session and must close it
	inputs  device.Inputs // the inputs in the session's tensors
}

// errNobody is the error of finals whose pool of workers has no worker left.
var errNobody = fmt.Errorf("the finals: no worker is there: %w", device.ErrGone)

// takePlace opens the problem on one of a pool's workers, and prefers workers whose names are not in `avoid`. On a
// single device, takePlace uses the search's session if there is one.
func (c *Case) takePlace(ctx context.Context, avoid ...string) (*place, error) {
	p := &place{device: c.Device, session: c.Session, inputs: c.Protocol.Inputs()}
	if pool, several := c.Device.(device.Pool); several {
		names := pool.Workers()
		for until := c.patience(); len(names) == 0 && ctx.Err() == nil && time.Now().Before(until); names = pool.Workers() {
			time.Sleep(policy.lookEvery)
		}
		if len(names) == 0 {
			return nil, errNobody
		}
		at := max(0, slices.IndexFunc(names, func(name string) bool { return !slices.Contains(avoid, name) }))
		p.worker, p.device, p.session = names[at], pool.Worker(names[at]), nil
	}
	if p.session != nil {
		return p, nil
	}
	p.own = true
	reference, err := device.CompileReference(ctx, c.Device, c.Problem, 0)
	if err == nil {
		p.session, err = p.device.Open(ctx, c.Problem, reference, c.Protocol)
	}
	return p, err
}

// patience returns the time until which the finals wait for a worker of the pool.
func (c *Case) patience() time.Time {
	left := policy.workerPatience
	if c.Limit > 0 {
		left = min(left, time.Until(c.Started.Add(c.Limit)))
	}
	return time.Now().Add(left)
}

func (p *place) close() error {
	if !p.own {
		return nil
	}
	return p.session.Close()
}

// evaluate verifies and times a variant. A variant that is much slower than `best`, a time in milliseconds, gets few
// samples; if `best` is 0, every variant gets enough samples.
func (p *place) evaluate(ctx context.Context, v device.Variant, best float64) (o trial.Outcome, err error) {
	if err = ctx.Err(); err == nil {
		o, err = p.session.Evaluate(ctx, v, best)
	}
	return o, evaluating(v, err)
}

// evaluating adds to an error the name of the variant that was being evaluated.
func evaluating(v device.Variant, err error) error {
	if err != nil {
		err = fmt.Errorf("evaluate %s: %w", v.Configuration, err)
	}
	return err
}

// Confirmation holds the time of the winner on a second worker, which also verified the winner.
type Confirmation struct {
	Worker string       `json:"worker"`
	Time   trial.Timing `json:"time_ms"`
}

// confirm verifies and times a configuration on another worker than that of the finals. If the configuration fails on
// the other worker, its trial gets the status of the failure.
func (j *judge) confirm(ctx context.Context, id int64) error {
	j.confirmed[id] = true
	if pool, several := j.Device.(device.Pool); !several || len(pool.Workers()) < 2 {
		return nil
	}
	second, err := j.takePlace(ctx, j.place.worker)
	switch {
	case errors.Is(err, device.ErrGone):
		return nil // the second worker has gone away
	case err != nil:
		return err
	case second.worker == j.place.worker:
		return second.close() // there is no second worker any more
	}
	v, ok, err := j.variant(ctx, id)
	if err == nil && ok {
		var o trial.Outcome
		switch o, err = second.evaluate(ctx, v, 0); {
		case err != nil:
		case o.Status != trial.OK:
			why := fmt.Sprintf("on the second worker %s: %s", second.worker, o.Message)
			j.change(id, func(t *trial.Trial) { t.Fail(o.Status, why) })
		default:
			j.verdict.Confirmation = &Confirmation{Worker: second.worker, Time: o.Time}
		}
	}
	if errors.Is(err, device.ErrGone) {
		err = nil
	}
	return errors.Join(err, second.close())
}
