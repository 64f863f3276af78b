package worker

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	exitGrace  = 2 * time.Second // for the worker to end by itself after its input ended
	underGrace = time.Minute     // likewise, under another program, which may have a report to write
	killGrace  = 5 * time.Second // for a killed worker to end
	pipeGrace  = time.Second     // how long programs that the worker started may hold its standard error
)

// Process is a running worker. Many goroutines may use a Process; their calls run one after the other.
type Process struct {
	name    string
	process *os.Process
	in, out *os.File // the parent's ends of the worker's standard input and output
	encoder *gob.Encoder
	decoder *gob.Decoder
	stderr  *Output
	grace   time.Duration // how long the worker may take to end by itself after its input ended

	turn     chan struct{} // holds one token; a call takes the token and puts it back
	done     chan struct{} // closed when the process has ended and state is set
	state    *os.ProcessState
	killOnce sync.Once
	killed   atomic.Bool
}

// Start starts the worker with the given name. ctx bounds only the start: the worker runs until Close or Call ends it.
func Start(ctx context.Context, name string) (*Process, error) { return StartUnder(ctx, nil, name) }

// StartWith starts a worker whose environment consists of variables, for example those that the function Environment
// returns.
func StartWith(ctx context.Context, variables []string, name string) (*Process, error) {
	return start(ctx, nil, variables, name)
}

// StartUnder starts the worker with the given name under another program, such as a debugger. program is the command
// line of that program, to which this executable is appended. The program that runs the worker must pass its own
// standard input, output and error on to the worker, and end with the worker.
func StartUnder(ctx context.Context, program []string, name string) (*Process, error) {
	return start(ctx, program, os.Environ(), name)
}

func start(ctx context.Context, program, variables []string, name string) (p *Process, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("start worker %s: %w", name, err)
		}
	}()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if os.Getenv(nameVariable) != "" {
		// A worker must not start workers from its own executable: if main does not call Dispatch, the copies would
		// start further copies without end.
		return nil, errors.New("this program is a worker itself and did not call worker.Dispatch")
	}
	executable, err := os.Executable()
	if err != nil {
		return nil, err
	}
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer childIn.Close()
	out, childOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, err
	}
	defer childOut.Close()

	p = &Process{
		name: name, in: in, out: out,
		encoder: gob.NewEncoder(in), decoder: gob.NewDecoder(out),
		stderr: &Output{}, grace: exitGrace, turn: make(chan struct{}, 1), done: make(chan struct{}),
	}
	p.turn <- struct{}{}

	words := append(slices.Clone(program), executable)
	if len(program) > 0 {
		p.grace = underGrace
	}
	command := exec.Command(words[0], words[1:]...)
	command.Env = append(slices.Clone(variables), nameVariable+"="+name)
	command.Stdin, command.Stdout, command.Stderr = childIn, childOut, p.stderr
	command.SysProcAttr = ChildAttributes()
	command.WaitDelay = pipeGrace

	started := make(chan error)
	go p.supervise(command, started)
	if err := <-started; err != nil {
		p.closePipes()
		return nil, err
	}
	return p, nil
}

// supervise starts the command and waits for its end on one thread, which lives as long as the child. The system
// signals a child when the thread that started it ends, not only when the process does.
func (p *Process) supervise(command *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := command.Start(); err != nil {
		started <- err
		return
	}
	p.process = command.Process
	started <- nil
	_ = command.Wait() // the exit status is in ProcessState as well
	p.state = command.ProcessState
	close(p.done)
}

func (p *Process) PID() int { return p.process.Pid }

// Alive tells whether the worker still runs.
func (p *Process) Alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Close ends the worker. Close waits for the call under way and closes the worker's input; a worker that does not end
// is killed. Close always returns nil, even if the worker crashed.
func (p *Process) Close() error {
	select {
	case <-p.turn:
		p.in.Close()
		p.turn <- struct{}{}
	case <-p.done:
	case <-time.After(exitGrace):
	}
	if !p.ended(p.grace) {
		p.Kill()
	}
	p.closePipes()
	if !p.ended(killGrace) {
		return fmt.Errorf("worker %s (process %d) does not end although it was killed", p.name, p.process.Pid)
	}
	return nil
}

// Kill ends at once the worker and all processes that the worker started; a Call under way fails. Kill also closes the
// worker's pipes, so that a call under way fails even while a driver keeps the system from ending the process.
func (p *Process) Kill() {
	p.killOnce.Do(func() {
		if p.Alive() {
			p.killed.Store(true)
			killGroup(p.process)
		}
		p.closePipes()
	})
}

func (p *Process) closePipes() {
	p.in.Close()
	p.out.Close()
}

func (p *Process) ended(within time.Duration) bool {
	select {
	case <-p.done:
		return true
	case <-time.After(within):
		return false
	}
}

// DiedError is the error of a call to a worker that got no response because the worker had died.
type DiedError struct {
	Worker    string
	ExitState string // such as "exit status 1" or "signal: segmentation fault"
	Stderr    string // the beginning and end of its standard error
}

// Error says how the worker died, and quotes the most telling line of its standard error.
func (e *DiedError) Error() string {
	if line := tellingLine(e.Stderr); line != "" {
		return fmt.Sprintf("worker %s died (%s): %s", e.Worker, e.ExitState, line)
	}
	return fmt.Sprintf("worker %s died (%s)", e.Worker, e.ExitState)
}

// Call sends a request to the worker and waits for its response. If ctx ends first, Call kills the worker, unless the
// call still waits for an earlier call to end, and returns an error that wraps ctx.Err(). If the worker dies, the error
// is a *DiedError. After an error that the worker's handler returned, the worker stays usable.
func Call[Req, Resp any](ctx context.Context, p *Process, req Req) (Resp, error) {
	var none Resp
	select {
	case <-ctx.Done():
		return none, fmt.Errorf("wait for worker %s: %w", p.name, ctx.Err())
	case <-p.turn:
		defer func() { p.turn <- struct{}{} }()
	}
	if err := ctx.Err(); err != nil {
		return none, fmt.Errorf("call worker %s: %w", p.name, err)
	}

	var r response[Resp]
	stop := context.AfterFunc(ctx, p.Kill)
	err := p.encoder.Encode(req)
	if err == nil {
		err = p.decoder.Decode(&r)
	}
	if !stop() {
		p.ended(killGrace) // even if the context ended only just before the worker died
		return none, fmt.Errorf("worker %s was killed: %w", p.name, ctx.Err())
	}
	if err != nil {
		return none, p.lost(err)
	}
	if r.Failed {
		return none, errors.New(r.Error)
	}
	return r.Body, nil
}

// lost returns why a request to the worker or its response was lost. A worker that lost a request cannot be used again.
func (p *Process) lost(cause error) error {
	if !p.ended(pipeGrace) && !p.killed.Load() { // a value could not be encoded, or something else wrote into the stream
		p.Kill()
		p.ended(killGrace)
		return fmt.Errorf("talk with worker %s: %w", p.name, cause)
	}
	state := "killed"
	if p.ended(killGrace) {
		state = p.state.String()
	}
	return &DiedError{Worker: p.name, ExitState: state, Stderr: p.stderr.String()}
}

type response[T any] struct {
	Failed bool
	Error  string
	Body   T
}

// Serve answers requests by the function handle, one after the other, until the reader in ends. If handle returns an
// error, Serve sends the error to the caller and answers further requests. A panic in handle ends the worker, and the
// caller gets a *DiedError.
func Serve[Req, Resp any](
	ctx context.Context, in io.Reader, out io.Writer, handle func(context.Context, Req) (Resp, error),
) error {
	decoder, encoder := gob.NewDecoder(in), gob.NewEncoder(out)
	for ctx.Err() == nil {
		var q Req
		if err := decoder.Decode(&q); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		var r response[Resp]
		body, err := handle(ctx, q)
		if r.Body = body; err != nil {
			r = response[Resp]{Failed: true, Error: err.Error()}
		}
		if err := encoder.Encode(r); err != nil {
			return fmt.Errorf("write a response: %w", err)
		}
	}
	return ctx.Err()
}
