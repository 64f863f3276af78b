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

// Link brings requests to a device elsewhere.
type Link interface {
	// Call sends a request and waits for the response. An error means that there will be none.
	Call(ctx context.Context, q Query) (Response, error)
}

// Query is a Request, with what only a process of this machine gets.
type Query struct {
	Request
	Extra Extra
	Wait  time.Duration // how long the response may take
}

// Extra is what a request from this machine may have beside it.
type Extra struct {
	Launches operator.Launches // of the kernel that the request is about
	Binaries map[string]built  // kernels that are compiled, by their digests
}

// How long this side waits for a child before it gives it up. The child watches each launch itself and answers in
// time; these are for a child that is stuck in a driver.
const (
	openLimit   = 10 * time.Minute // a reference may be slow
	closeLimit  = 30 * time.Second
	answerSlack = 5 * time.Second
)

// mostReopens is how often one request has the problem opened again.
const mostReopens = 3

// Session is a problem on a device elsewhere. It keeps what it was opened with: the other side may have to open it
// again, in a new process or after it made room for other problems.
type Session struct {
	link      Link
	key       string // that requests name it by
	problem   *operator.Problem
	opening   Opening
	reference map[string]built
	pauses    []time.Duration                     // before another attempt to open it again
	limits    func(device.Protocol) time.Duration // longest evaluation, see evaluationLimit

	mu       sync.Mutex
	proto    device.Protocol  // with the inputs of the moment
	ceilings *device.Ceilings // nil until they are known
	closed   bool
}

// NewSession readies a problem for its way to a device. It is opened by the first request.
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

// Protocol is how variants are verified and timed, with the inputs of the moment.
func (s *Session) Protocol() device.Protocol {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proto
}

// Ceilings are those that were measured when the session was opened first.
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

// Compile has the other side compile a kernel of the problem. The binary has no code: it stays there.
func (s *Session) Compile(ctx context.Context, r compile.Request) (*compile.Binary, error) {
	limit := min(r.Timeout, mostMinutes)
	q := Request{Kind: Compile, Configuration: r.Configuration, Digest: r.Kernel.Digest(), Limit: limit}
	a, err := s.ask(ctx, Query{Request: q})
	return a.Compiled, err
}

// Refill draws the inputs anew, or has them drawn when the problem is opened next.
func (s *Session) Refill(ctx context.Context, in device.Inputs) error {
	s.mu.Lock()
	s.proto.Distribution, s.proto.Seed = in.Distribution, in.Seed
	s.mu.Unlock()
	_, err := s.ask(ctx, Query{Request: Request{Kind: Refill}, Wait: openLimit})
	return err
}

// about is a request about a variant.
func (s *Session) about(v device.Variant, r Request) Query {
	r.Configuration, r.Digest = v.Configuration, v.Kernel.Digest()
	e := Extra{Launches: v.Kernel.Launches, Binaries: map[string]built{r.Digest: {Binary: v.Binary}}}
	return Query{Request: r, Extra: e, Wait: s.limits(s.Protocol())}
}

// evaluationLimit is the longest that an answer about a variant may take: the child gives
// up a launch after LaunchTimeout, and only a few of them can be that long.
func evaluationLimit(p device.Protocol) time.Duration {
	return 6*p.LaunchTimeout + verify.MostOverTime*p.MeasureTime + answerSlack
}

// ask sends a request. If the problem is not open on the other side, it is opened.
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
		if q.Kind == Compile { // needs the problem, and not the device
			q.Opening = &s.opening
		} else if err := s.reopen(ctx); err != nil {
			return Response{}, err
		}
	}
}

// errorOf gives a response's fault its identity.
func (s *Session) errorOf(r Response) error {
	if r.Fault == nil {
		return nil
	}
	return r.Fault.err(s.problem.Operator.Name, "")
}

// reopen opens the problem. Where that fails it is tried again, a few times; then the device is in trouble.
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

// Open opens the problem on the other side.
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

// open is the request that opens the problem.
func (s *Session) open() Query {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.opening
	o.Protocol = s.proto
	r := Request{ID: s.key, Kind: Open, Problem: s.key, Opening: &o, Inputs: s.proto.Inputs()}
	return Query{Request: r, Extra: Extra{Binaries: s.reference}, Wait: openLimit}
}

// Close frees the problem's memory, if there is still somebody to do so.
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

// Pause waits, and tells whether ctx has not ended meanwhile.
func Pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
