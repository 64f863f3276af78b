package cuda

import (
	"context"
	"errors"
	"fmt"
	"time"

	"autotune/internal/scratch"
	"autotune/internal/worker"
	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/device/cuda/wire"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// How long this side waits for the worker before it gives it up. The worker
// watches each launch itself and answers in time; these are for a worker that
// is stuck in the driver.
const (
	openLimit   = 10 * time.Minute // a reference may be slow
	closeLimit  = 30 * time.Second
	answerSlack = 5 * time.Second
)

// reopenPauses are waited before another attempt to open a session in a new
// worker: the memory of one that was killed may take a while to be free.
var reopenPauses = [...]time.Duration{100 * time.Millisecond, time.Second, 4 * time.Second}

// session is a problem on the GPU. It keeps the request it was opened with, to
// open it again in a new worker.
type session struct {
	gpu      *gpu
	number   int // that requests name it by
	problem  *operator.Problem
	inputs   device.Inputs   // of the moment
	folder   *scratch.Folder // of what the worker reads from files; nil: nothing
	request  wire.Open
	ceilings device.Ceilings
	process  *worker.Process // the worker that it is open in
	closed   bool
	limits   func(device.Protocol) time.Duration // longest evaluation, see evaluationLimit
	pauses   []time.Duration                     // before another attempt to open it again
}

func (s *session) Ceilings() device.Ceilings { return s.ceilings }

// Evaluate verifies and times a variant.
func (s *session) Evaluate(ctx context.Context, v device.Variant, best float64) (trial.Outcome, error) {
	if wrong := mismatch(v.Binary, v.Kernel, s.request.Arguments); wrong != "" {
		return trial.Outcome{Status: trial.LaunchError, Message: wrong}, nil
	}
	r, err := s.ask(ctx, wire.Request{Evaluate: &wire.Evaluate{Variant: imageOf(v.Binary, v.Kernel, s.request.Arguments), Best: best, Energy: v.Energy, Look: v.Look}})
	return r.Outcome, err
}

// Check launches a variant several times.
func (s *session) Check(ctx context.Context, v device.Variant, c device.Check) (trial.Outcome, int, error) {
	r, err := s.ask(ctx, wire.Request{Check: &wire.Check{Variant: imageOf(v.Binary, v.Kernel, s.request.Arguments), Check: c}})
	return r.Outcome, r.Launches, err
}

// Refill draws the inputs anew, here or in the worker that comes next.
func (s *session) Refill(ctx context.Context, in device.Inputs) error {
	filled, err := fills(s.request.Arguments, in)
	if err != nil {
		return err
	}
	s.gpu.mu.Lock()
	defer s.gpu.mu.Unlock()
	s.request.Fills, s.request.Answers, s.inputs = filled, nil, in
	if !s.isOpen() {
		return s.blamed(s.reopen(ctx))
	}
	r, err := s.gpu.call(ctx, openLimit, wire.Request{Session: s.number, Refill: &wire.Refill{Fills: filled}})
	if err != nil {
		return errors.Join(fmt.Errorf("draw other inputs on the GPU: %w", err), s.gpu.abandon())
	}
	if r.Fault != nil {
		return s.blamed(faultError(r.Fault))
	}
	return s.blamed(s.answer(ctx))
}

// imageOf is a compiled kernel as the worker launches it on some arguments.
func imageOf(b *compile.Binary, k operator.Kernel, arguments []operator.Argument) wire.Image {
	image := wire.Image{Code: b.Code}
	for _, l := range k.Launches {
		image.Launches = append(image.Launches, wire.Launch{Launch: l, Symbol: b.Symbol(l.Entry), Passed: operator.Passed(arguments, l)})
	}
	return image
}

// ask sends the worker a request about a variant. For a worker that does not
// answer, the response holds the status of the trial.
func (s *session) ask(ctx context.Context, q wire.Request) (wire.Response, error) {
	s.gpu.mu.Lock()
	defer s.gpu.mu.Unlock()
	if err := s.reopen(ctx); err != nil {
		return wire.Response{}, err
	}
	q.Session = s.number
	r, err := s.gpu.call(ctx, s.limits(s.request.Protocol), q)
	if err != nil {
		r.Outcome, err = s.lost(ctx, err)
		return r, err
	}
	return r, faultError(r.Fault)
}

// evaluationLimit is the longest that an answer about a variant may take: the
// worker gives up a launch after LaunchTimeout, and only a few of them can be
// that long.
func evaluationLimit(p device.Protocol) time.Duration {
	return 6*p.LaunchTimeout + wire.MostOverTime*p.MeasureTime + answerSlack
}

// lost turns a worker that did not answer into the trial's status, and makes
// sure that the next evaluation gets a new worker.
func (s *session) lost(ctx context.Context, cause error) (trial.Outcome, error) {
	if err := s.gpu.abandon(); err != nil {
		return trial.Outcome{}, errors.Join(cause, err)
	}
	switch {
	case ctx.Err() != nil:
		return trial.Outcome{}, cause
	case errors.Is(cause, context.DeadlineExceeded):
		return trial.Outcome{Status: trial.Timeout, Message: fmt.Sprintf("no answer within %v", s.limits(s.request.Protocol))}, nil
	default: // most often a *worker.DiedError
		return trial.Outcome{Status: trial.Crashed, Message: cause.Error()}, nil
	}
}

// reopen opens the session in the current worker unless it is already. A worker
// that does not come up is tried again, a few times; then the device is in trouble.
func (s *session) reopen(ctx context.Context) error {
	if s.closed {
		return errors.New("the session is closed")
	}
	if s.isOpen() {
		return nil
	}
	for attempt := 0; ; attempt++ {
		err := s.openOnce(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if attempt == len(s.pauses) {
			return fmt.Errorf("the GPU does not recover, after %d attempts to prepare the problem anew: %w", attempt+1, err)
		}
		select {
		case <-time.After(s.pauses[attempt]):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// isOpen tells whether the session is open in the running worker.
func (s *session) isOpen() bool {
	return s.process != nil && s.process == s.gpu.process && s.process.Alive()
}

// openOnce opens the session in the running worker.
func (s *session) openOnce(ctx context.Context) error {
	if err := s.gpu.ready(ctx); err != nil {
		return err
	}
	r, err := s.gpu.call(ctx, openLimit, wire.Request{Session: s.number, Open: &s.request})
	if err != nil {
		return errors.Join(fmt.Errorf("prepare the problem on the GPU: %w", err), s.gpu.abandon())
	}
	if r.Fault != nil {
		return faultError(r.Fault)
	}
	s.process = s.gpu.process
	if !s.request.KnownCeilings {
		s.ceilings = r.Ceilings
	}
	if s.request.Answers != nil {
		return nil
	}
	if err := s.answer(ctx); err != nil {
		return errors.Join(err, s.leave())
	}
	return nil
}

// leave frees the problem's memory in the worker.
func (s *session) leave() error {
	if !s.isOpen() {
		return nil // it went with its worker
	}
	s.process = nil
	r, err := s.gpu.call(context.Background(), closeLimit, wire.Request{Session: s.number, Close: true})
	if err != nil || r.Fault != nil {
		// The memory is freed all the same, with the worker.
		return s.gpu.abandon()
	}
	return nil
}

func (s *session) removeFolder() error {
	if s.folder == nil {
		return nil
	}
	return s.folder.Close()
}

// Close frees the problem's memory; the worker stays for the next problem.
func (s *session) Close() error {
	s.gpu.mu.Lock()
	defer s.gpu.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return errors.Join(s.leave(), s.removeFolder())
}
