//go:build cuda

// Package cudaworker is the process that uses the GPU. It keeps a problem's
// tensors there and evaluates one variant a request: it checks what the variant
// needs, launches it once onto poisoned outputs, compares these with the
// reference's, looks at the guard zones and the inputs, takes times, and looks at
// all of it again: the timed launches must be as right as the first.
//
// It needs the build tag cuda, which make sets. Built without the tag it serves
// requests too, with the advice to set it.
package cudaworker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"gorgonia.org/cu"

	"autotune/internal/worker"
	"autotune/tuner/device"
	"autotune/tuner/device/cuda/wire"
)

// Run serves requests until in ends.
func Run(ctx context.Context, in io.Reader, out io.Writer) error {
	// A CUDA context belongs to a thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := &server{sessions: map[int]*problem{}}
	err := worker.Serve(ctx, in, out, s.serve)
	if err == nil && s.watched {
		exit() // with the handlers that Go's way out does not run: whoever watches may write its report in one
	}
	return err
}

// server is the state of the worker: one GPU and the problems prepared on it.
type server struct {
	gpu      *processor // nil until the first problem
	sessions map[int]*problem
	watched  bool // a program watches the launches
}

func (s *server) serve(_ context.Context, q wire.Request) (r wire.Response, _ error) {
	var err error
	p := s.sessions[q.Session]
	switch {
	case q.Describe:
		r.GPUs, err = describeAll()
	case q.Sanitize != nil:
		r.Outcome, r.Unusable, err = s.sanitize(q.Sanitize)
	case q.Open != nil:
		r.Ceilings, err = s.open(q.Session, q.Open)
	case p == nil:
		err = fmt.Errorf("no session %d is open", q.Session)
	case q.Inputs != nil:
		err = p.writeInputs(q.Inputs.Files)
	case q.Answer != nil:
		err = p.takeAnswer(q.Answer.Files)
	case (q.Evaluate != nil || q.Check != nil) && p.sums == nil:
		err = fmt.Errorf("session %d does not know what is right", q.Session)
	case q.Evaluate != nil:
		if q.Evaluate.Look {
			p.gpu.monitor.lookAround()
		}
		r.Outcome, r.Unusable, err = p.evaluate(q.Evaluate)
	case q.Check != nil:
		r.Outcome, r.Launches, r.Unusable, err = p.check(q.Check)
	case q.Refill != nil:
		err = p.refill(q.Refill.Fills)
	case q.Close:
		delete(s.sessions, q.Session)
		err = p.close()
	default:
		err = errors.New("a request that asks nothing")
	}
	if err != nil {
		r.Fault = faultOf(err)
		r.Unusable = r.Unusable || isSticky(err)
	}
	return r, nil
}

func faultOf(err error) *wire.Fault {
	var f *wire.Fault
	if !errors.As(err, &f) {
		return &wire.Fault{Kind: wire.Trouble, Message: inWords(err).Error()}
	}
	return f
}

func (s *server) open(session int, o *wire.Open) (device.Ceilings, error) {
	if err := s.openGPU(o.Ordinal); err != nil {
		return device.Ceilings{}, err
	}
	p, err := openProblem(s.gpu, o)
	if err != nil {
		return device.Ceilings{}, err
	}
	s.sessions[session] = p
	return p.ceilings, nil
}

// openGPU opens the GPU, unless it is open.
func (s *server) openGPU(ordinal int) (err error) {
	if s.gpu == nil {
		s.gpu, err = openProcessor(ordinal)
	}
	return err
}

// processor is the GPU that this worker uses.
type processor struct {
	bounds  bounds
	stream  cu.Stream
	events  []cu.Event // pairs of start and end, for samples
	monitor *monitor
}

// openProcessor makes the GPU's context current on this thread.
func openProcessor(ordinal int) (*processor, error) {
	all, err := describeAll()
	if err != nil {
		return nil, err
	}
	if ordinal < 0 || ordinal >= len(all) {
		return nil, &wire.Fault{Kind: wire.NoDevice, Message: fmt.Sprintf("there is no GPU %d", ordinal)}
	}
	g := &processor{monitor: startMonitor(cu.Device(ordinal))}
	if g.bounds, err = boundsOf(cu.Device(ordinal), all[ordinal].Limits); err != nil {
		return nil, fmt.Errorf("describe GPU %d: %w", ordinal, err)
	}
	g.monitor.inUse.Store(true)
	context, err := cu.Device(ordinal).RetainPrimaryCtx()
	if err != nil {
		return nil, fmt.Errorf("create a context on GPU %d: %w", ordinal, err)
	}
	if err := cu.SetCurrentContext(context); err != nil {
		return nil, fmt.Errorf("use the context of GPU %d: %w", ordinal, err)
	}
	if g.stream, err = cu.MakeStream(cu.NonBlocking); err != nil {
		return nil, fmt.Errorf("create a stream: %w", err)
	}
	g.events = make([]cu.Event, 2*greatestSpell)
	for i := range g.events {
		if g.events[i], err = cu.MakeEvent(cu.DefaultEvent); err != nil {
			return nil, fmt.Errorf("create an event: %w", err)
		}
	}
	return g, nil
}
