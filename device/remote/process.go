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

// question is what a child process reads: a Request, with what only a process of this machine gets.
type question struct {
	Message []byte
	Setup   Setup
	Extra   Extra
	// Binaries are kernels that the child needs, compiled, by their digests.
	Binaries map[string]built
	Opens    bool // the Request opens a problem: the binaries are needed later, too
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
	c := &childProcess{vendor: v, server: Server{Python: true}, sent: sent{binaries: map[string]built{}}}
	err := worker.Serve(ctx, in, out, c.answer)
	if err == nil && c.watched {
		v.Exit()
	}
	return err
}

type childProcess struct {
	vendor  Vendor
	server  Server
	sent    sent
	watched bool // a program watches what is launched here
}

func (c *childProcess) answer(ctx context.Context, q question) (reply, error) {
	request, err := Decode[Request](q.Message)
	if err != nil {
		return reply{}, err
	}
	c.sent.take(q)
	r, err := c.do(ctx, request, q)
	if len(c.sent.wanted) > 0 {
		return reply{Wanted: c.sent.wanted}, nil
	}
	r.Lost = r.Lost || errors.Is(err, device.ErrLost)
	if err != nil {
		r.Fault = FaultOf(err)
	}
	r.Kind, r.Worker = request.Kind, childName
	message, err := Encode(r)
	return reply{Message: message}, err
}

func (c *childProcess) do(ctx context.Context, request Request, q question) (r Response, err error) {
	if request.Kind == Describe {
		r.Devices, err = c.vendor.List()
		return r, err
	}
	if c.server.Device == nil {
		if c.server.Device, err = c.vendor.Open(q.Setup, &c.sent); err != nil {
			return r, err
		}
	}
	r, err = c.server.Answer(ctx, request, q.Extra)
	// After a timeout the driver would wait for a kernel that never ends.
	c.watched = request.Kind == Launch && r.Outcome.Status != trial.Timeout
	return r, err
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
	if !q.Opens {
		return
	}
	for digest, b := range q.Binaries {
		s.binaries[digest] = b
	}
}

// errWanted means that a kernel was not compiled yet. The search's process compiles it and
// asks again.
var errWanted = errors.New("the kernel has not been compiled yet")

func (s *sent) Compile(_ context.Context, r compile.Request) (*compile.Binary, error) {
	k := r.Kernel
	digest := k.Digest()
	b, ok := s.now[digest]
	if !ok {
		b, ok = s.binaries[digest]
	}
	switch {
	case b.Refused != nil:
		return nil, b.Refused.err(k.Operator, k.File)
	case !ok || b.Binary == nil:
		s.wanted = append(s.wanted, k)
		return nil, fmt.Errorf("%s: %w", k.File, errWanted)
	}
	return b.Binary, nil
}

func (s *sent) Version() string { return s.version }

// Workers is one: the search's process has the compilers.
func (s *sent) Workers() int { return 1 }

func (s *sent) Close() error { return nil }
