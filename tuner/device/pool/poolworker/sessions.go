package poolworker

import (
	"context"
	"errors"
	"fmt"

	"autotune/tuner/compile"
	"autotune/tuner/device"
)

// mostSessions is how many problems are open at once.
const mostSessions = 8

// sessions are the problems that are open on the device. Only the goroutine that drives
// the device touches them.
type sessions struct {
	open map[string]*session // by the problem's key
	uses int
}

// session is a problem on the device, with the inputs of the moment.
type session struct {
	device.Session
	inputs device.Inputs
	bytes  int64 // that it takes there, with room for the reference's output
	used   int   // when it was last, counted in uses
	// release lets the operator's data files go; nil: it has none.
	release func()
}

// Close closes the problem.
func (s *session) Close() error {
	if s.release != nil {
		defer s.release()
	}
	return s.Session.Close()
}

// session is a problem's on the device, with these inputs.
func (w *worker) session(ctx context.Context, key string, p *problem, in device.Inputs) (*session, error) {
	s := w.sessions.open[key]
	if s == nil {
		var err error
		if s, err = w.openSession(ctx, p); err != nil {
			return nil, err
		}
		w.sessions.open[key] = s
	}
	w.sessions.uses++
	s.used = w.sessions.uses
	if s.inputs != in {
		if err := s.Refill(ctx, in); err != nil {
			return nil, errors.Join(err, w.sessions.drop(key))
		}
		s.inputs = in
	}
	return s, nil
}

// openSession makes room for a problem and opens it.
func (w *worker) openSession(ctx context.Context, p *problem) (*session, error) {
	bytes := 2 * p.MemoryBytes()
	if w.Memory > 0 && p.MemoryBytes() > w.Memory {
		return nil, fmt.Errorf("%w: the tensors of %s take %s, a worker here may use %s", device.ErrMemory, p, device.GiB(p.MemoryBytes()), device.GiB(w.Memory))
	}
	if err := w.sessions.makeRoom(bytes, w.Memory); err != nil {
		return nil, err
	}
	binary, err := w.reference(ctx, p)
	if err != nil {
		return nil, err
	}
	_, release, err := w.Spool.hold(ctx, w.Broker, p.spec.Data)
	if err != nil {
		return nil, err
	}
	opened, err := w.device.Open(ctx, p.Problem, binary, p.spec.Protocol)
	if err != nil {
		release()
		return nil, err
	}
	return &session{Session: opened, inputs: p.spec.Protocol.Inputs(), bytes: bytes, release: release}, nil
}

// reference is what says what is right, compiled; nil where no kernel does.
func (w *worker) reference(ctx context.Context, p *problem) (*compile.Binary, error) {
	switch a := p.Operator.Answers; {
	case a == nil:
	case a.Python != nil && p.spec.Named && !w.Python:
		return nil, &device.ReferenceError{Operator: p.Operator.Name, Fault: fmt.Sprintf("is a Python file, which the worker %s does not run: `autotune worker --python` does", w.Name)}
	default:
		return nil, nil
	}
	kernel, err := p.Reference()
	if err != nil {
		return nil, err
	}
	return w.binary(ctx, kernel, 0)
}

// makeRoom closes what was not used for longest, until there is room.
func (s *sessions) makeRoom(bytes, most int64) error {
	for {
		taken, oldest := bytes, ""
		for key, one := range s.open {
			taken += one.bytes
			if oldest == "" || one.used < s.open[oldest].used {
				oldest = key
			}
		}
		if oldest == "" || len(s.open) < mostSessions && (most == 0 || taken <= most) {
			return nil
		}
		if err := s.drop(oldest); err != nil {
			return err
		}
	}
}

func (s *sessions) drop(key string) error {
	one := s.open[key]
	delete(s.open, key)
	return one.Close()
}

// sweep closes the problems of searches that are gone.
func (s *sessions) sweep(ctx context.Context, gone func(context.Context, string) bool) {
	for key := range s.open {
		if gone(ctx, key) {
			_ = s.drop(key)
		}
	}
}

func (s *sessions) close() error {
	var all []error
	for key := range s.open {
		all = append(all, s.drop(key))
	}
	return errors.Join(all...)
}
