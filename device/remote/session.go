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
	"autotune/device/verify"
	"autotune/operator"
)

// Link transports requests to a device outside of this process.
type Link interface {
	// Call sends a request and waits for the response. After Call has returned an error, no response to the request
	// will come.
	Call(ctx context.Context, q Query) (Response, error)
}

// Query is a Request together with data that is sent only between processes of one machine.
type Query struct {
	Request
	Extra Extra
	Wait  time.Duration // how long the response may take
}

// Extra is the data that accompanies a request only between processes of one machine.
type Extra struct {
	Launches operator.Launches // of the request's kernel
	Binaries map[string]built  // compiled kernels by their digests
}

// The following limits say how long a search's process waits for a child process that is stuck in the driver. A child
// that is not stuck ends a launch by itself if the launch takes too long.
const (
	openLimit   = 10 * time.Minute // a reference may be slow
	closeLimit  = 30 * time.Second
	answerSlack = 5 * time.Second
)

// mostReopens limits how often one request may cause the problem to be opened again.
const mostReopens = 3

// Session is a problem that is open on a device outside of this process. The Session keeps the data that opened the
// problem, because the problem may have to be opened again, in a new process or after memory was short.
type Session struct {
	link      Link
	key       string // names the problem in requests
	problem   *operator.Problem
	opening   Opening
	reference map[string]built
	pauses    []time.Duration                     // waits between attempts to open the problem again
	limits    func(device.Protocol) time.Duration // longest evaluation, see evaluationLimit

	mu       sync.Mutex
	proto    device.Protocol  // with the current inputs
	ceilings *device.Ceilings // nil until they are known
	closed   bool
}

// NewSession prepares the session of a problem. A session's first request opens the problem on the device.
func NewSession(
	l Link, key string, p *operator.Problem, reference *compile.Binary, proto device.Protocol,
) (*Session, error) {
	s := &Session{link: l, key: key, problem: p, proto: proto, limits: evaluationLimit}
	var err error
	if s.opening, err = openingOf(p, proto); err != nil {
		return nil, err
	}
	if reference != nil && p.Operator.Answers == nil {
		kernel, err := p.Reference()
		if err != nil {
			return nil, fmt.Errorf("the reference's launch: %w", err)
		}
		s.reference = map[string]built{kernel.Digest(): {Binary: reference}}
	}
	return s, nil
}

// Protocol returns how variants are verified and timed, with the current inputs.
func (s *Session) Protocol() device.Protocol {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proto
}

// Ceilings returns the ceilings that were measured when the session was first opened.
func (s *Session) Ceilings() device.Ceilings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.ceilings
}

func (s *Session) Evaluate(ctx context.Context, v device.Variant, best float64) (trial.Outcome, error) {
	r, err := s.ask(ctx, s.about(v, Request{Kind: Evaluate, Best: best}))
	return r.Outcome, err
}

func (s *Session) Check(ctx context.Context, v device.Variant, c device.Check) (trial.Outcome, int, error) {
	r, err := s.ask(ctx, s.about(v, Request{Kind: Check, Check: c}))
	return r.Outcome, r.Launches, err
}

// Compile makes the process that holds the device compile a kernel of the problem and keep the code; the returned
// binary contains no code.
func (s *Session) Compile(ctx context.Context, r compile.Request) (*compile.Binary, error) {
	limit := min(r.Timeout, mostMinutes)
	q := Request{Kind: Compile, Configuration: r.Configuration, Digest: r.Kernel.Digest(), Limit: limit}
	a, err := s.ask(ctx, Query{Request: q})
	return a.Compiled, err
}

// Refill changes the inputs, which are generated at once if the problem is open, and otherwise when it is opened.
func (s *Session) Refill(ctx context.Context, in device.Inputs) error {
	s.mu.Lock()
	s.proto.Distribution, s.proto.Seed = in.Distribution, in.Seed
	s.mu.Unlock()
	_, err := s.ask(ctx, Query{Request: Request{Kind: Refill}, Wait: openLimit})
	return err
}

// about adds the variant's configuration, digest, launches and binary to a request about the variant, and returns
// the Query to send.
func (s *Session) about(v device.Variant, r Request) Query {
	r.Configuration, r.Digest = v.Configuration, v.Kernel.Digest()
	e := Extra{Launches: v.Kernel.Launches, Binaries: map[string]built{r.Digest: {Binary: v.Binary}}}
	return Query{Request: r, Extra: e, Wait: s.limits(s.Protocol())}
}

// evaluationLimit returns the longest time that an answer about a variant may take. The child gives up a launch after
// LaunchTimeout, and at most six launches per evaluation can take that long.
func evaluationLimit(p device.Protocol) time.Duration {
	return 6*p.LaunchTimeout + verify.MostOverTime*p.MeasureTime + answerSlack
}

// ask sends a request. If the problem is not open on the remote device, ask opens it and sends the request again.
func (s *Session) ask(ctx context.Context, q Query) (Response, error) {
	for attempt := 0; ; attempt++ {
		s.mu.Lock()
		closed := s.closed
		q.ID, q.Problem, q.Inputs = s.key, s.key, s.proto.Inputs()
		s.mu.Unlock()
		if closed {
			return Response{}, errors.New("the session is closed")
		}
		a, err := s.link.Call(ctx, q)
		if err != nil {
			return a, err
		}
		if a.Fault == nil || a.Fault.Kind != NotOpen || attempt == mostReopens {
			a.Outcome.Notice = a.Notice
			return a, s.errorOf(a)
		}
		if q.Kind == Compile { // compiling needs the problem but not the device
			q.Opening = &s.opening
		} else if err := s.reopen(ctx); err != nil {
			return Response{}, err
		}
	}
}

// errorOf converts a response's fault to an error of the type that callers test for.
func (s *Session) errorOf(r Response) error {
	if r.Fault == nil {
		return nil
	}
	return r.Fault.err(s.problem.Operator.Name, "")
}

// reopen opens the problem, and retries a few times before it returns an error.
func (s *Session) reopen(ctx context.Context) error {
	for attempt := 0; ; attempt++ {
		err := s.Open(ctx)
		if err == nil || ctx.Err() != nil || len(s.pauses) == 0 {
			return err
		}
		if attempt == len(s.pauses) {
			return fmt.Errorf("the GPU does not recover, after %d attempts to prepare the problem anew: %w", attempt+1, err)
		}
		if !Pause(ctx, s.pauses[attempt]) {
			return ctx.Err()
		}
	}
}

// Open opens the problem on the remote device.
func (s *Session) Open(ctx context.Context) error {
	q := s.open()
	r, err := s.link.Call(ctx, q)
	if err != nil {
		return fmt.Errorf("prepare the problem on the GPU: %w", err)
	}
	if r.Fault == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.ceilings == nil {
			s.ceilings = &r.Ceilings
		}
	}
	return s.errorOf(r)
}

func (s *Session) open() Query {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.opening
	o.Protocol = s.proto
	r := Request{ID: s.key, Kind: Open, Problem: s.key, Opening: &o, Inputs: s.proto.Inputs()}
	return Query{Request: r, Extra: Extra{Binaries: s.reference}, Wait: openLimit}
}

// Close frees the problem's memory on the remote device, if the device can still be reached.
func (s *Session) Close() error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	q := Request{ID: s.key, Kind: Close, Problem: s.key, Inputs: s.proto.Inputs()}
	s.mu.Unlock()
	if closed {
		return nil
	}
	_, err := s.link.Call(context.Background(), Query{Request: q, Wait: closeLimit})
	return err
}

// Pause waits, and returns false if ctx ends during the wait.
func Pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
