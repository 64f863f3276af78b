package worker

import (
	"context"
	"fmt"
)

// DiedError is a call that was not answered because the worker had died.
type DiedError struct {
	Worker    string
	ExitState string // as "exit status 1" or "signal: segmentation fault"
	Stderr    string // what it had written on standard error: beginning and end
}

// Error tells how the worker died and the line of its standard error that says
// most about why.
func (e *DiedError) Error() string {
	if line := tellingLine(e.Stderr); line != "" {
		return fmt.Sprintf("worker %s died (%s): %s", e.Worker, e.ExitState, line)
	}
	return fmt.Sprintf("worker %s died (%s)", e.Worker, e.ExitState)
}

// Call sends a request to the worker and waits for its response.
//
// When ctx ends first, the worker is killed and the error wraps ctx.Err(); a
// call that was still waiting for its turn leaves the worker alone. When the
// worker dies, the error is a *DiedError. When the worker's handler returned an
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
		// It lives: a value could not be encoded, or something else wrote
		// into the stream.
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
