package remote

import (
	"context"
	"errors"
	"fmt"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/operator"
)

// Host answers requests about problems with a device. One goroutine uses it.
type Host struct {
	Device device.Device
	Memory int64 // that the tensors of all problems may take together; 0: no bound
	Most   int   // problems that are open at once; 0: no bound

	open map[string]*hosted // by the problem's key
	uses int
}

// Job is a request with what the transport brought for it.
type Job struct {
	Request
	Problem  *operator.Problem
	Protocol device.Protocol
	Kernel   operator.Kernel
	Binary   *compile.Binary
	// Prepare is called before the problem is opened. It gives the reference's binary, nil
	// where no kernel says what is right, and what lets the operator's data files go.
	Prepare func(ctx context.Context) (reference *compile.Binary, release func(), err error)
	Known   *device.Ceilings
}

// hosted is a problem on the device, with the inputs of the moment.
type hosted struct {
	device.Session
	inputs  device.Inputs
	bytes   int64 // that it takes there, with room for the reference's output
	used    int   // when it was last, counted in uses
	release func()
}

func (s *hosted) Close() error {
	defer s.release()
	return s.Session.Close()
}

// Do answers a request. A problem that cannot be opened is a Fault of the response. An
// error is the device's: what it says of the variant beside it may still count.
func (h *Host) Do(ctx context.Context, j Job) (Response, error) {
	r := Response{ID: j.ID, Kind: j.Kind}
	if j.Kind == Close {
		return r, h.drop(j.Request.Problem)
	}
	s, err := h.session(ctx, j)
	if err != nil {
		r.Fault, r.Lost = FaultOf(err), errors.Is(err, device.ErrLost)
		return r, nil
	}
	r.Ceilings = s.Ceilings()
	v := device.Variant{Configuration: j.Configuration, Kernel: j.Kernel, Binary: j.Binary, Energy: j.Energy, Look: j.Look}
	switch j.Kind {
	case Evaluate:
		r.Outcome, err = s.Evaluate(ctx, v, j.Best)
	case Check:
		r.Outcome, r.Launches, err = s.Check(ctx, v, j.Check)
	}
	return r, r.settle(err)
}

// settle completes a response that has an outcome, and tells what of the error beside it
// is still one: that a variant took the device with it is its outcome.
func (r *Response) settle(err error) error {
	r.Outcome.MaxAbsError, r.Notice = trial.Finite(r.Outcome.MaxAbsError), r.Outcome.Notice
	if r.Lost = errors.Is(err, device.ErrLost); r.Lost && r.Outcome.Status != "" {
		return nil
	}
	return err
}

// session is a problem's on the device, with the inputs that are asked for.
func (h *Host) session(ctx context.Context, j Job) (*hosted, error) {
	key := j.Request.Problem
	s := h.open[key]
	if s == nil {
		if j.Prepare == nil {
			return nil, &Fault{Kind: NotOpen, Message: "the problem is not open"}
		}
		var err error
		if s, err = h.openSession(ctx, j); err != nil {
			return nil, err
		}
		if h.open == nil {
			h.open = map[string]*hosted{}
		}
		h.open[key] = s
	}
	h.uses++
	s.used = h.uses
	if s.inputs != j.Inputs {
		if err := s.Refill(ctx, j.Inputs); err != nil {
			return nil, errors.Join(err, h.drop(key))
		}
		s.inputs = j.Inputs
	}
	return s, nil
}

// openSession makes room for a problem and opens it.
func (h *Host) openSession(ctx context.Context, j Job) (*hosted, error) {
	p := j.Problem
	if h.Memory > 0 && p.MemoryBytes() > h.Memory {
		return nil, fmt.Errorf("%w: the tensors of %s take %s, a worker here may use %s", device.ErrMemory, p, device.GiB(p.MemoryBytes()), device.GiB(h.Memory))
	}
	bytes := 2 * p.MemoryBytes()
	if err := h.makeRoom(bytes); err != nil {
		return nil, err
	}
	reference, release, err := j.Prepare(ctx)
	if err != nil {
		return nil, err
	}
	var opened device.Session
	if again, ok := h.Device.(device.Reopener); ok && j.Known != nil {
		opened, err = again.Reopen(ctx, p, reference, j.Protocol, *j.Known)
	} else {
		opened, err = h.Device.Open(ctx, p, reference, j.Protocol)
	}
	if err != nil {
		release()
		return nil, err
	}
	return &hosted{Session: opened, inputs: j.Protocol.Inputs(), bytes: bytes, release: release}, nil
}

// makeRoom closes what was not used for longest, until there is room.
func (h *Host) makeRoom(bytes int64) error {
	for {
		taken, oldest := bytes, ""
		for key, one := range h.open {
			taken += one.bytes
			if oldest == "" || one.used < h.open[oldest].used {
				oldest = key
			}
		}
		if oldest == "" || (h.Most == 0 || len(h.open) < h.Most) && (h.Memory == 0 || taken <= h.Memory) {
			return nil
		}
		if err := h.drop(oldest); err != nil {
			return err
		}
	}
}

func (h *Host) drop(key string) error {
	one := h.open[key]
	if one == nil {
		return nil
	}
	delete(h.open, key)
	return one.Close()
}

func (h *Host) Sweep(gone func(key string) bool) {
	for key := range h.open {
		if gone(key) {
			_ = h.drop(key) // what it held is free, or the device says so next
		}
	}
}

func (h *Host) Close() error {
	var all []error
	for key := range h.open {
		all = append(all, h.drop(key))
	}
	return errors.Join(all...)
}
