package tuner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"autotune/tuner/device"
	"autotune/tuner/trial"
)

// place is where the finals and the gates are: on the device, or on one of a pool's
// workers. Times of two of them are not compared.
type place struct {
	worker  string // "": the device is one
	device  device.Device
	session device.Session // nil: the stage's own
}

// takePlace opens the problem on one of a pool's workers, none of those to avoid if
// there is another; the zero worker where the device is one.
func (s *search) takePlace(ctx context.Context, avoid ...string) (*place, error) {
	if s.pool == nil {
		return &place{device: s.device}, nil
	}
	names := s.pool.Workers()
	if len(names) == 0 {
		return nil, fmt.Errorf("the finals: %w", device.ErrGone)
	}
	at := max(0, slices.IndexFunc(names, func(name string) bool { return !slices.Contains(avoid, name) }))
	p := &place{worker: names[at], device: s.pool.Worker(names[at])}
	binary, err := s.compileReference(ctx)
	if err == nil {
		p.session, err = p.device.Open(ctx, s.problem, binary, s.Protocol)
	}
	return p, err
}

func (p *place) close() error {
	if p.session == nil {
		return nil
	}
	return p.session.Close()
}

// evaluateAt hands a place a job and waits for it: when the search's own are done.
func (s *search) evaluateAt(p *place, j job) job {
	j.session = p.session
	return s.evaluateNow(j)
}

// apartBeyond is how far the times of one variant on two workers of a model may
// differ without a word.
const apartBeyond = 1.02

// Confirmation is what a second worker said of the winner.
type Confirmation struct {
	Worker string       `json:"worker"`
	Time   trial.Timing `json:"time_ms"`
}

// confirm has another worker than that of the finals verify and time a
// configuration. One that fails there has failed.
func (f *finals) confirm(ctx context.Context, id int64) error {
	f.confirmed[id] = true
	if f.pool == nil || len(f.pool.Workers()) < 2 {
		return nil
	}
	second, err := f.takePlace(ctx, f.place.worker)
	if errors.Is(err, device.ErrGone) || err == nil && second.worker == f.place.worker {
		return nil // there is none any more
	}
	if err != nil {
		return err
	}
	v, ok, err := f.variant(ctx, id)
	if err == nil && ok {
		err = f.heed(second, id, f.evaluateAt(second, job{id: id, variant: v}))
	}
	return errors.Join(err, second.close())
}

// heed takes note of what a second worker said.
func (f *finals) heed(second *place, id int64, j job) error {
	switch {
	case errors.Is(j.err, device.ErrGone):
		return nil
	case j.err != nil:
		return j.err
	case j.outcome.Status != trial.OK:
		f.change(id, func(t *trial.Trial) {
			t.Fail(j.outcome.Status, fmt.Sprintf("on the second worker %s: %s", second.worker, j.outcome.Message))
		})
	default:
		f.confirmation = &Confirmation{Worker: second.worker, Time: j.outcome.Time}
	}
	return nil
}

// apart says by how much a second worker's time of the winner differs, if that is
// more than measuring explains; "" if it is not.
func (c *Confirmation) apart(winner trial.Trial) string {
	own := winner.Time
	if c == nil || max(c.Time.Median, own.Median) <= apartBeyond*min(c.Time.Median, own.Median) || c.Time.Reaches(own) && own.Reaches(c.Time) {
		return ""
	}
	return fmt.Sprintf("the worker %s times the winner at %.4g ms, %s at %.4g ms: these two are not alike", c.Worker, c.Time.Median, cmp.Or(winner.Worker, "the first"), own.Median)
}
