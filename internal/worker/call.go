package worker

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
)

// DiedError is a call that was not answered because the worker had died.
type DiedError struct {
	Worker    string
	ExitState string // as "exit status 1" or "signal: segmentation fault"
	Stderr    string // what it had written on standard error: beginning and end
}

// Error tells how the worker died and the line of its standard error that says most about why.
func (e *DiedError) Error() string {
	if line := tellingLine(e.Stderr); line != "" {
		return fmt.Sprintf("worker %s died (%s): %s", e.Worker, e.ExitState, line)
	}
	return fmt.Sprintf("worker %s died (%s)", e.Worker, e.ExitState)
}

// Call sends a request to the worker and waits for its response.
//
// When ctx ends first, the worker is killed and the error wraps ctx.Err(); a call that was still waiting for its turn
// leaves the worker alone. When the worker dies, the error is a *DiedError. When the worker's handler returned an
// error, it is a *RemoteError and the worker stays usable.
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
	err := p.encoder.Encode(request[Req]{Body: req})
	if err == nil {
		err = p.decoder.Decode(&r)
	}
	if !stop() {
		// The context ended first, if only by a hair: the worker is gone.
		p.ended(killGrace)
		return none, fmt.Errorf("worker %s was killed: %w", p.name, ctx.Err())
	}
	if err != nil {
		return none, p.lost(err)
	}
	if r.Failed {
		return none, &RemoteError{r.Error}
	}
	return r.Body, nil
}

// lost says why a request or its response did not get through. The stream is
// of no use afterwards, so neither is the worker.
func (p *Process) lost(cause error) error {
	if !p.ended(pipeGrace) && !p.killed.Load() {
		// It lives: a value could not be encoded, or something else wrote into the stream.
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

// request and response frame what travels, so that a body may be of any type that gob knows, empty structs included.
type request[T any] struct {
	Body T
}

type response[T any] struct {
	Failed bool
	Error  string
	Body   T
}

// RemoteError is an error that a worker's handler returned. The worker is in good health and takes further calls.
type RemoteError struct{ Message string }

func (e *RemoteError) Error() string { return e.Message }

// Serve answers requests with handle, one after the other, until in ends. An error of handle travels back as
// *RemoteError and the worker goes on; a panic ends the worker, which its caller sees as *DiedError.
func Serve[Req, Resp any](ctx context.Context, in io.Reader, out io.Writer, handle func(context.Context, Req) (Resp, error)) error {
	decoder, encoder := gob.NewDecoder(in), gob.NewEncoder(out)
	for ctx.Err() == nil {
		var q request[Req]
		if err := decoder.Decode(&q); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		var r response[Resp]
		body, err := handle(ctx, q.Body)
		if err != nil {
			r.Failed, r.Error = true, err.Error()
		} else {
			r.Body = body
		}
		if err := encoder.Encode(r); err != nil {
			return fmt.Errorf("write a response: %w", err)
		}
	}
	return ctx.Err()
}
