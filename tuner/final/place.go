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

// place is where the finals and the gates are: on the device, or on one of a pool's workers. Times of two workers are
// not compared.
type place struct {
	worker  string // "": the device is one
	device  device.Device
	session device.Session
	own     bool          // the session was opened for it
	inputs  device.Inputs // what the session's tensors hold
}

// errNobody means that a pool has no worker that the finals could be on.
var errNobody = fmt.Errorf("the finals: no worker is there: %w", device.ErrGone)

// takePlace opens the problem on one of a pool's workers. It avoids the worker of that name if there is another. A
// single device is the place itself, with the search's session if there is one.
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

// patience is until when the finals wait for a worker, within the search's limit.
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

// evaluate verifies and times a variant. One much slower than the best, in milliseconds, is given few samples; 0: none
// is.
func (p *place) evaluate(ctx context.Context, v device.Variant, best float64) (o trial.Outcome, err error) {
	if err = ctx.Err(); err == nil {
		o, err = p.session.Evaluate(ctx, v, best)
	}
	return o, evaluating(v, err)
}

// evaluating says of an error what was done.
func evaluating(v device.Variant, err error) error {
	if err != nil {
		err = fmt.Errorf("evaluate %s: %w", v.Configuration, err)
	}
	return err
}

// Confirmation is what a second worker said of the winner.
type Confirmation struct {
	Worker string       `json:"worker"`
	Time   trial.Timing `json:"time_ms"`
}

// confirm has another worker than that of the finals verify and time a configuration. One that fails there has failed.
func (j *judge) confirm(ctx context.Context, id int64) error {
	j.confirmed[id] = true
	if pool, several := j.Device.(device.Pool); !several || len(pool.Workers()) < 2 {
		return nil
	}
	second, err := j.takePlace(ctx, j.place.worker)
	switch {
	case errors.Is(err, device.ErrGone):
		return nil // there is none any more
	case err != nil:
		return err
	case second.worker == j.place.worker:
		return second.close() // nor here
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
