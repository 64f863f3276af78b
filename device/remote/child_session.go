package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/device/verify"
	"autotune/internal/worker"
	"autotune/operator"
)

// reopenPauses are waited before another attempt to open a session in a new child: the
// memory of one that was killed may take a while to be free.
var reopenPauses = [...]time.Duration{100 * time.Millisecond, time.Second, 4 * time.Second}

// ChildSession is a problem on a Child. It keeps what it was opened with, to open it again
// in a new process.
type ChildSession struct {
	child    *Child
	key      string // that requests name it by
	problem  *operator.Problem
	proto    device.Protocol // with the inputs of the moment
	bundle   []byte
	files    Files
	binaries map[string]built // the reference
	ceilings *device.Ceilings // nil until they are known
	process  *worker.Process  // the child that it is open in
	closed   bool
	limits   func(device.Protocol) time.Duration // longest evaluation, see evaluationLimit
	pauses   []time.Duration                     // before another attempt to open it again
}

// pack readies the operator and the reference for their way to the child.
func (s *ChildSession) pack(reference *compile.Binary) (err error) {
	o := s.problem.Operator
	if s.bundle, err = o.Bundle(); err != nil {
		return err
	}
	if reference != nil && o.Answers == nil {
		kernel, err := s.problem.Reference()
		if err != nil {
			return fmt.Errorf("the reference's launch: %w", err)
		}
		s.binaries[kernel.Digest()] = built{Binary: reference}
	}
	s.files = Files{}
	for name, d := range o.Data {
		if s.files[name], err = place(d); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func place(d *operator.DataFile) (string, error) {
	f, err := d.Open()
	if err != nil {
		return "", err
	}
	defer f.Close()
	if onDisk, ok := f.(*os.File); ok {
		return filepath.Abs(onDisk.Name())
	}
	return "", errors.New("a GPU's process reads a data file where it lies, and this one is not on disk")
}

// Ceilings are those that were measured when the session was opened first.
func (s *ChildSession) Ceilings() device.Ceilings { return *s.ceilings }

func (s *ChildSession) Evaluate(ctx context.Context, v device.Variant, best float64) (trial.Outcome, error) {
	r, err := s.ask(ctx, Request{Kind: Evaluate, Best: best, Energy: v.Energy, Look: v.Look}, v)
	return r.Outcome, err
}

func (s *ChildSession) Check(ctx context.Context, v device.Variant, c device.Check) (trial.Outcome, int, error) {
	r, err := s.ask(ctx, Request{Kind: Check, Check: c}, v)
	return r.Outcome, r.Launches, err
}

func (s *ChildSession) variant(r Request, v device.Variant) (Request, question) {
	r.Problem, r.Inputs = s.key, s.proto.Inputs()
	r.Configuration, r.Digest = v.Configuration, v.Kernel.Digest()
	return r, question{Binaries: map[string]built{r.Digest: {Binary: v.Binary}}, Launches: v.Kernel.Launches}
}

// ask sends the child a request about a variant. For a child that does not answer, the
// response holds the status of the trial.
func (s *ChildSession) ask(ctx context.Context, r Request, v device.Variant) (Response, error) {
	s.child.mu.Lock()
	defer s.child.mu.Unlock()
	if err := s.reopen(ctx); err != nil {
		return Response{}, err
	}
	r, q := s.variant(r, v)
	a, err := s.child.call(ctx, s.limits(s.proto), r, q)
	if err != nil {
		a.Outcome, err = s.lost(ctx, err)
		return a, err
	}
	a.Outcome.Notice = a.Notice
	return a, s.errorOf(a)
}

// errorOf gives a response's fault its identity.
func (s *ChildSession) errorOf(r Response) error {
	if r.Fault == nil {
		return nil
	}
	return r.Fault.Err(s.problem.Operator.Name, "")
}

// evaluationLimit is the longest that an answer about a variant may take: the child gives
// up a launch after LaunchTimeout, and only a few of them can be that long.
func evaluationLimit(p device.Protocol) time.Duration {
	return 6*p.LaunchTimeout + verify.MostOverTime*p.MeasureTime + answerSlack
}

// lost turns a child that did not answer into the trial's status, and makes sure that the
// next evaluation gets a new one.
func (s *ChildSession) lost(ctx context.Context, cause error) (trial.Outcome, error) {
	if err := s.child.abandon(); err != nil {
		return trial.Outcome{}, errors.Join(cause, err)
	}
	switch {
	case ctx.Err() != nil:
		return trial.Outcome{}, cause
	case errors.Is(cause, context.DeadlineExceeded):
		return trial.Outcome{Status: trial.Timeout, Message: fmt.Sprintf("no answer within %v", s.limits(s.proto))}, nil
	default: // most often a *worker.DiedError
		return trial.Outcome{Status: trial.Crashed, Message: cause.Error()}, nil
	}
}

// Refill draws the inputs anew, here or in the child that comes next.
func (s *ChildSession) Refill(ctx context.Context, in device.Inputs) error {
	s.child.mu.Lock()
	defer s.child.mu.Unlock()
	was := s.isOpen()
	s.proto.Distribution, s.proto.Seed = in.Distribution, in.Seed
	if !was {
		return s.reopen(ctx)
	}
	r, err := s.child.call(ctx, openLimit, Request{Kind: Refill, Problem: s.key, Inputs: in}, question{})
	if err != nil {
		return errors.Join(fmt.Errorf("draw other inputs on the GPU: %w", err), s.child.abandon())
	}
	if r.Fault != nil {
		s.process = nil // the child has closed it
	}
	return s.errorOf(r)
}

// reopen opens the session in the current child unless it is already. A child that does
// not come up is tried again, a few times; then the device is in trouble.
func (s *ChildSession) reopen(ctx context.Context) error {
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

func (s *ChildSession) isOpen() bool {
	return s.process != nil && s.process == s.child.process && s.process.Alive()
}

func (s *ChildSession) openOnce(ctx context.Context) error {
	if err := s.child.ready(ctx); err != nil {
		return err
	}
	opening, err := s.opening()
	if err != nil {
		return err
	}
	r, err := s.child.call(ctx, openLimit, Request{Kind: Open, Problem: s.key, Inputs: s.proto.Inputs()}, question{Opening: opening, Binaries: s.binaries})
	if err != nil {
		return errors.Join(fmt.Errorf("prepare the problem on the GPU: %w", err), s.child.abandon())
	}
	if r.Fault != nil {
		return s.errorOf(r)
	}
	s.process = s.child.process
	if s.ceilings == nil {
		s.ceilings = &r.Ceilings
	}
	return nil
}

func (s *ChildSession) opening() (*opening, error) {
	spec := ProblemOf(s.problem, s.proto)
	spec.Bundle = BundleName(s.bundle)
	problem, err := Encode(spec)
	o := &opening{Problem: problem, Bundle: s.bundle, Files: s.files}
	if s.ceilings != nil {
		o.Again, o.Known = true, *s.ceilings
	}
	return o, err
}

// LaunchUnder launches a variant once in a child of its own under another program, and
// waits until both have ended. What the operator makes of it is not looked at.
func (s *ChildSession) LaunchUnder(ctx context.Context, program []string, v device.Variant, launch, whole time.Duration) (trial.Outcome, error) {
	s.child.mu.Lock()
	defer s.child.mu.Unlock()
	opening, err := s.opening()
	if err != nil {
		return trial.Outcome{}, err
	}
	p, err := worker.StartUnder(ctx, program, s.child.options.Worker)
	if err != nil {
		return trial.Outcome{}, err
	}
	limited, cancel := context.WithTimeout(ctx, whole)
	defer cancel()
	r, q := s.variant(Request{Kind: Launch, Limit: launch}, v)
	q.Opening = opening
	a, err := s.child.callOn(limited, p, r, q)
	return a.Outcome, errors.Join(err, p.Close(), s.errorOf(a))
}

// Protocol is how variants are verified and timed, with the inputs of the moment.
func (s *ChildSession) Protocol() device.Protocol { return s.proto }

func (s *ChildSession) leave() error {
	if !s.isOpen() {
		return nil // it went with its process
	}
	s.process = nil
	r, err := s.child.call(context.Background(), closeLimit, Request{Kind: Close, Problem: s.key, Inputs: s.proto.Inputs()}, question{})
	if err != nil || r.Fault != nil {
		return s.child.abandon() // the memory is freed all the same, with the process
	}
	return nil
}

// Close frees the problem's memory; the child stays for the next problem.
func (s *ChildSession) Close() error {
	s.child.mu.Lock()
	defer s.child.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return s.leave()
}
