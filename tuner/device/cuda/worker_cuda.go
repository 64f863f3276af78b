//go:build cuda

package cuda

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"gorgonia.org/cu"

	"autotune/internal/worker"
)

// Worker is the worker process: it answers orders until in ends.
func Worker(ctx context.Context, in io.Reader, out io.Writer) error {
	// A CUDA context belongs to a thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	h := &host{sessions: map[int]*problem{}}
	return worker.Serve(ctx, in, out, h.obey)
}

// host is the state of the worker: one GPU and the problems prepared on it.
type host struct {
	gpu      *processor // nil until the first problem
	sessions map[int]*problem
}

func (h *host) obey(_ context.Context, o order) (answer, error) {
	var a answer
	var err error
	switch {
	case o.Describe:
		a.Devices, err = describeAll()
	case o.Open != nil:
		err = h.open(o.Open, &a)
	case o.Evaluate != nil:
		err = h.evaluate(o.Evaluate, &a)
	case o.Close != nil:
		err = h.close(o.Close)
	default:
		err = errors.New("an order that says nothing")
	}
	if err != nil {
		a.Fault = faultOf(err)
		a.Unusable = a.Unusable || isSticky(err)
	}
	return a, nil
}

func faultOf(err error) *fault {
	var f *fault
	if !errors.As(err, &f) {
		return &fault{Kind: faultDevice, Message: inWords(err).Error()}
	}
	return f
}

func (h *host) open(o *openOrder, a *answer) error {
	if h.gpu == nil {
		gpu, err := openProcessor(o.Ordinal)
		if err != nil {
			return err
		}
		h.gpu = gpu
	}
	p, err := openProblem(h.gpu, o)
	if err != nil {
		return err
	}
	h.sessions[o.Session] = p
	a.Ceilings = p.ceilings
	return nil
}

func (h *host) evaluate(o *evaluateOrder, a *answer) error {
	p, err := h.session(o.Session)
	if err != nil {
		return err
	}
	a.Outcome, a.Unusable, err = p.evaluate(o)
	return err
}

func (h *host) close(o *closeOrder) error {
	p, err := h.session(o.Session)
	if err != nil {
		return err
	}
	delete(h.sessions, o.Session)
	return p.close()
}

func (h *host) session(number int) (*problem, error) {
	p := h.sessions[number]
	if p == nil {
		return nil, fmt.Errorf("no session %d is open", number)
	}
	return p, nil
}

// processor is the GPU that this worker uses.
type processor struct {
	about   description
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
		return nil, &fault{Kind: faultNone, Message: fmt.Sprintf("there is no GPU %d", ordinal)}
	}
	g := &processor{about: all[ordinal], monitor: startMonitor(cu.Device(ordinal))}
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
