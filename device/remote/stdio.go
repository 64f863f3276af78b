package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/internal/worker"
	"autotune/operator"
)

// Vendor is how the child process of a kind of devices finds and opens them.
type Vendor struct {
	List func() ([]device.Info, error)
	Open func(Setup, compile.Compiler) (device.Device, error)
	Exit func() // ends a process whose launches were watched, once it has nothing more to do
}

// Setup is what a child process must know of the device that it opens.
type Setup struct {
	Ordinal  int
	CacheDir string // where answers are kept; "": nowhere
	Compiler string // the version of the compiler, which the search's process has
	Target   string // what kernels are compiled for
}

// question is what a child process reads: a Request, with what is too large for one.
type question struct {
	Message []byte
	Setup   Setup
	Opening *opening // of an Open or a Launch
	// Binaries are kernels that the child needs, compiled, by their digests.
	Binaries map[string]built
	Launches operator.Launches // of the kernel that the request is about
}

// opening is a problem on its way to a child process.
type opening struct {
	Problem []byte // a Problem
	Bundle  []byte
	Files   Files // where the operator's data files are
	Again   bool  // Known are the ceilings, which were measured before
	Known   device.Ceilings
}

// built is a kernel compiled, or why the compiler refused it.
type built struct {
	Binary  *compile.Binary
	Refused *Fault
}

// reply is a Response, or which kernels the child needs to give one.
type reply struct {
	Message []byte
	Wanted  []operator.Kernel
}

// Serve answers the requests of a Child, whose process this one is, until in ends.
func Serve(ctx context.Context, in io.Reader, out io.Writer, v Vendor) error {
	s := &server{vendor: v, sent: sent{binaries: map[string]built{}}, problems: map[string]*opened{}}
	err := worker.Serve(ctx, in, out, s.answer)
	if err == nil && s.watched {
		v.Exit()
	}
	return err
}

type server struct {
	vendor   Vendor
	host     Host
	sent     sent
	problems map[string]*opened
	watched  bool // a program watches what is launched here
}

type opened struct {
	*operator.Problem
	proto device.Protocol
}

func (s *server) answer(ctx context.Context, q question) (reply, error) {
	request, err := Decode[Request](q.Message)
	if err != nil {
		return reply{}, err
	}
	s.sent.take(q)
	r, err := s.do(ctx, request, q)
	if len(s.sent.wanted) > 0 {
		return reply{Wanted: s.sent.wanted}, nil
	}
	r.Lost = r.Lost || errors.Is(err, device.ErrLost)
	if err != nil {
		r.Fault = FaultOf(err)
	}
	r.Kind, r.Worker = request.Kind, "child"
	message, err := Encode(r)
	return reply{Message: message}, err
}

func (s *server) do(ctx context.Context, request Request, q question) (r Response, err error) {
	if request.Kind == Describe {
		r.Devices, err = s.vendor.List()
		return r, err
	}
	if s.host.Device == nil {
		if s.host.Device, err = s.vendor.Open(q.Setup, &s.sent); err != nil {
			return r, err
		}
	}
	j := Job{Request: request}
	if q.Opening != nil {
		if err := s.bind(request.Problem, q, &j); err != nil {
			return r, err
		}
	}
	p := s.problems[request.Problem]
	if p == nil {
		return r, &Fault{Kind: NotOpen, Message: "the problem is not open"}
	}
	j.Problem, j.Protocol = p.Problem, p.proto
	if request.Digest != "" {
		if j.Kernel, err = request.KernelOf(p.Problem, q.Launches); err == nil {
			j.Binary, err = s.sent.get(j.Kernel)
		}
		if err != nil {
			return r, err
		}
	}
	switch request.Kind {
	case Launch:
		return s.launch(ctx, j)
	case Close:
		delete(s.problems, request.Problem)
	}
	return s.host.Do(ctx, j)
}

// bind makes the problem that was sent, for one request or for all that follow.
func (s *server) bind(key string, q question, j *Job) error {
	spec, err := Decode[Problem](q.Opening.Problem)
	if err != nil {
		return err
	}
	o, err := operator.LoadBundle(q.Opening.Bundle, q.Opening.Files)
	if err != nil {
		return err
	}
	o = o.AsNamed(spec.Named)
	bound, err := spec.Bind(o)
	if err != nil {
		return err
	}
	s.problems[key] = &opened{bound, spec.Protocol}
	if q.Opening.Again {
		j.Known = &q.Opening.Known
	}
	j.Prepare = func(context.Context) (reference *compile.Binary, release func(), err error) {
		if o.Answers == nil {
			kernel, err := bound.Reference()
			if err != nil {
				return nil, nil, err
			}
			if reference, err = s.sent.get(kernel); err != nil {
				return nil, nil, err
			}
		}
		return reference, func() {}, nil
	}
	return nil
}

// launch launches a variant once, for a program that watches.
func (s *server) launch(ctx context.Context, j Job) (r Response, err error) {
	d, ok := s.host.Device.(device.Launcher)
	if !ok {
		return r, errors.New("such a device launches nothing under another program")
	}
	j.Protocol.LaunchTimeout = j.Limit
	r.Outcome, err = d.Launch(ctx, j.Problem, j.Protocol, device.Variant{Configuration: j.Configuration, Kernel: j.Kernel, Binary: j.Binary})
	s.watched = r.Outcome.Status != trial.Timeout // else the driver would wait for a kernel that never ends
	return r, r.settle(err)
}

// Files are the data files of an operator: the paths that their names stand for.
type Files map[string]string

func (f Files) Open(name string) (fs.File, error) {
	if f[name] == "" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return os.Open(f[name])
}

// sent is a compiler that has the binaries of the search's process. It remembers those that are
// missing, so that the search's process compiles them.
type sent struct {
	version  string
	binaries map[string]built // that came with an Open: those of the device's own kernels
	now      map[string]built // that came with this request
	wanted   []operator.Kernel
}

func (s *sent) take(q question) {
	s.version, s.now, s.wanted = q.Setup.Compiler, q.Binaries, nil
	if q.Opening == nil {
		return
	}
	for digest, b := range q.Binaries {
		s.binaries[digest] = b
	}
}

// errWanted means that a kernel was not compiled yet. The search's process compiles it and
// asks again.
var errWanted = errors.New("the kernel has not been compiled yet")

func (s *sent) get(k operator.Kernel) (*compile.Binary, error) {
	digest := k.Digest()
	b, ok := s.now[digest]
	if !ok {
		b, ok = s.binaries[digest]
	}
	switch {
	case b.Refused != nil:
		return nil, b.Refused.Err(k.Operator, k.File)
	case !ok || b.Binary == nil:
		s.wanted = append(s.wanted, k)
		return nil, fmt.Errorf("%s: %w", k.File, errWanted)
	}
	return b.Binary, nil
}

func (s *sent) Compile(_ context.Context, r compile.Request) (*compile.Binary, error) {
	return s.get(r.Kernel)
}

func (s *sent) Version() string { return s.version }

// Workers is one: the search's process has the compilers.
func (s *sent) Workers() int { return 1 }

func (s *sent) Close() error { return nil }
