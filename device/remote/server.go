package remote

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/operator"
)

// Server uses a device to answer requests about problems. Kernels are compiled in parallel, and work on the device is
// done one request after another.
type Server struct {
	Device device.Device
	Memory int64 // limit in bytes for the tensors of all problems; 0 means none
	Most   int   // limit for problems open at once; 0 means none
	Python bool  // run the Python files of operators that compute right answers

	turn sync.Mutex         // guards the device and open
	open map[string]*hosted // by the problem's key

	mu    sync.Mutex
	known map[string]*bound
}

// mostKnown is the largest number of problems that a Server remembers.
const mostKnown = 64

// bound is a problem that is bound with the same data as in the search.
type bound struct {
	*operator.Problem
	opening Opening // without the bundle
}

// hosted is a problem that is open on the device, with its current inputs.
type hosted struct {
	device.Session
	inputs device.Inputs
	bytes  int64 // device memory, including room for the reference's output
	used   time.Time
}

// Answer answers a request. A fault of the problem or the kernel becomes a Fault in the response. An error of Answer
// means that the device has failed; a variant's outcome in the response may still count. If launches is not nil, it
// replaces the launches of the kernel; only a search on the same machine sends launches.
func (s *Server) Answer(ctx context.Context, r Request, launches operator.Launches) (Response, error) {
	a, begin := Response{ID: r.ID, Kind: r.Kind}, time.Now()
	p, err := s.problem(r)
	var v device.Variant
	if err == nil && r.Digest != "" {
		v, err = s.variant(ctx, r, p, launches)
	}
	if err != nil {
		a.Fault = FaultOf(err)
		return a, nil
	}
	if b := v.Binary; r.Kind == Compile {
		a.Compiled = &compile.Binary{Log: firstOf(b.Log), Duration: time.Since(begin), Cached: b.Cached}
		return a, nil
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	if ctx.Err() != nil {
		return a, fmt.Errorf("%w: %w", ErrNotBegun, context.Cause(ctx))
	}
	return s.onDevice(ctx, a, r, p, v)
}

// problem returns the problem that a request describes or names by its key.
func (s *Server) problem(r Request) (*bound, error) {
	s.mu.Lock()
	p := s.known[r.Problem]
	s.mu.Unlock()
	if r.Opening == nil && p == nil {
		return nil, &Fault{Kind: NotOpen, Message: "the problem is not open"}
	}
	if r.Opening == nil {
		return p, nil
	}
	problem, err := r.Opening.bind()
	if err != nil {
		return nil, err
	}
	name := problem.Operator.Name
	if a := problem.Operator.Answers; a != nil && r.Opening.Named && !s.Python {
		return nil, device.Blame(name, "",
			"is a Python file, which this worker does not run: `autotune worker --python` does")
	}
	p = &bound{problem, *r.Opening}
	p.opening.Bundle = nil
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= mostKnown {
		s.known = map[string]*bound{}
	}
	s.known[r.Problem] = p
	return p, nil
}

// variant makes and compiles the kernel of a request. The binary of the requested kernel may be in the cache from an
// earlier request.
func (s *Server) variant(
	ctx context.Context, r Request, p *bound, launches operator.Launches,
) (v device.Variant, err error) {
	v = device.Variant{Configuration: r.Configuration}
	if v.Kernel, err = r.kernel(p.Problem, launches); err != nil {
		return v, err
	}
	c := compile.Request{Kernel: v.Kernel, Arch: s.Device.Arch(), Timeout: r.Limit}
	v.Binary, err = s.Device.Compiler().Compile(ctx, c)
	return v, err
}

func (s *Server) onDevice(ctx context.Context, a Response, r Request, p *bound, v device.Variant) (Response, error) {
	var err error
	switch r.Kind {
	case Close:
		s.mu.Lock()
		delete(s.known, r.Problem)
		s.mu.Unlock()
		return a, s.drop(r.Problem)
	case Launch:
		d, ok := s.Device.(device.Launcher)
		if !ok {
			return a, errors.New("such a device launches nothing under another program")
		}
		proto := p.opening.Protocol
		proto.LaunchTimeout = r.Limit
		a.Outcome, err = d.Launch(ctx, p.Problem, proto, v)
		return a, a.settle(err)
	}
	one, err := s.session(ctx, r, p)
	if err != nil {
		a.Fault, a.Lost = FaultOf(err), errors.Is(err, device.ErrLost)
		return a, nil
	}
	a.Ceilings = one.Ceilings()
	switch r.Kind {
	case Evaluate:
		a.Outcome, err = one.Evaluate(ctx, v, r.Best)
	case Check:
		a.Outcome, a.Launches, err = one.Check(ctx, v, r.Check)
	}
	return a, a.settle(err)
}

// settle completes a response that has an outcome, and returns err unless the outcome already reports the error. If a
// variant destroyed the device's context, the variant's outcome says so, and settle returns no error.
func (a *Response) settle(err error) error {
	a.Outcome.MaxAbsError, a.Notice = trial.Finite(a.Outcome.MaxAbsError), a.Outcome.Notice
	if a.Lost = errors.Is(err, device.ErrLost); a.Lost && a.Outcome.Status != "" {
		return nil
	}
	return err
}

// session returns the problem's session on the device, with the inputs of the request.
func (s *Server) session(ctx context.Context, r Request, p *bound) (*hosted, error) {
	one := s.open[r.Problem]
	if one == nil {
		var err error
		if one, err = s.openSession(ctx, p); err != nil {
			return nil, err
		}
		if s.open == nil {
			s.open = map[string]*hosted{}
		}
		s.open[r.Problem] = one
	}
	one.used = time.Now()
	if one.inputs != r.Inputs {
		if err := one.Refill(ctx, r.Inputs); err != nil {
			return nil, errors.Join(err, s.drop(r.Problem))
		}
		one.inputs = r.Inputs
	}
	return one, nil
}

// openSession makes room for a problem and opens it.
func (s *Server) openSession(ctx context.Context, p *bound) (*hosted, error) {
	if s.Memory > 0 && p.MemoryBytes() > s.Memory {
		return nil, fmt.Errorf("the tensors of %s take %s, a worker here may use %s: %w",
			p, device.GiB(p.MemoryBytes()), device.GiB(s.Memory), device.ErrMemory)
	}
	bytes := 2 * p.MemoryBytes()
	if err := s.makeRoom(bytes); err != nil {
		return nil, err
	}
	reference, err := device.CompileReference(ctx, s.Device, p.Problem, 0)
	if err != nil {
		return nil, err
	}
	opened, err := s.Device.Open(ctx, p.Problem, reference, p.opening.Protocol)
	if err != nil {
		return nil, err
	}
	return &hosted{Session: opened, inputs: p.opening.Protocol.Inputs(), bytes: bytes}, nil
}

// makeRoom closes the problems that were not used for longest, until the given number of bytes is free.
func (s *Server) makeRoom(bytes int64) error {
	for {
		taken, oldest := bytes, ""
		for key, one := range s.open {
			taken += one.bytes
			if oldest == "" || one.used.Before(s.open[oldest].used) {
				oldest = key
			}
		}
		full := s.Most > 0 && len(s.open) >= s.Most || s.Memory > 0 && taken > s.Memory
		if oldest == "" || !full {
			return nil
		}
		if err := s.drop(oldest); err != nil {
			return err
		}
	}
}

func (s *Server) drop(key string) error {
	one := s.open[key]
	if one == nil {
		return nil
	}
	delete(s.open, key)
	return one.Close()
}

// Sweep closes problems that were not used for the given time, because their searches have most likely ended.
func (s *Server) Sweep(idle time.Duration) error {
	s.turn.Lock()
	defer s.turn.Unlock()
	var all []error
	for key, one := range s.open {
		if time.Since(one.used) >= idle {
			all = append(all, s.drop(key))
		}
	}
	return errors.Join(all...)
}

// Close closes all problems. The caller must close the Server's device.
func (s *Server) Close() error { return s.Sweep(0) }
