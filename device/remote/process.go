package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/internal/worker"
	"autotune/operator"
)

// Vendor says how the child process of one kind of devices lists and opens them.
type Vendor struct {
	List func() ([]device.Info, error)
	Open func(Setup, compile.Compiler) (device.Device, error)
	Exit func() // ends a process whose launches were watched, after its last request
}

// Setup is what a child process needs to know to open its device.
type Setup struct {
	Ordinal  int
	CacheDir string // folder of cached answers; "" means none
	Compiler string // version of the compiler in the search's process
	Target   string // what kernels are compiled for
}

// question is what a child process reads: a Request, and data that is sent only between processes of one machine.
type question struct {
	Message []byte
	Setup   Setup
	Extra   Extra
	Opens   bool // the Request opens a problem, and its binaries are needed later, too
}

// built is a compiled kernel, or the reason why it did not compile.
type built struct {
	Binary  *compile.Binary
	Refused *Fault
}

// reply is a Response, or the list of kernels that the child needs before it can respond.
type reply struct {
	Message []byte
	Wanted  []operator.Kernel
}

// Serve runs in the process of a Child and answers its requests until the input ends.
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
	watched bool // a program watches this process's launches
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
	r, err = c.server.Answer(ctx, request, q.Extra.Launches)
	// After a timeout, the driver's exit handler would wait for a kernel that never ends.
	c.watched = request.Kind == Launch && r.Outcome.Status != trial.Timeout
	return r, err
}

// sent is a compiler that returns binaries which the search's process has compiled and sent. sent records the kernels
// that it was asked for and does not have, so that the search's process can compile them.
type sent struct {
	version  string
	binaries map[string]built // binaries sent with an Open: the device's own kernels
	now      map[string]built // binaries sent with this request
	wanted   []operator.Kernel
}

func (s *sent) take(q question) {
	s.version, s.now, s.wanted = q.Setup.Compiler, q.Extra.Binaries, nil
	if q.Opens {
		maps.Copy(s.binaries, s.now)
	}
}

// errWanted means that a kernel is not compiled yet. When the search's process receives errWanted, it compiles the
// kernel and sends the request again.
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

// Workers returns 1, because the compilers run in the search's process.
func (s *sent) Workers() int { return 1 }

func (s *sent) Close() error { return nil }
