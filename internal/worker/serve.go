package worker

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
)

// request and response frame what travels, so that a body may be of any type
// that gob knows, empty structs included.
type request[T any] struct {
	Body T
}

type response[T any] struct {
	Failed bool
	Error  string
	Body   T
}

// RemoteError is an error that a worker's handler returned. The worker is in
// good health and takes further calls.
type RemoteError struct{ Message string }

func (e *RemoteError) Error() string { return e.Message }

// Serve answers requests with handle, one after the other, until in ends. An
// error of handle travels back as *RemoteError and the worker goes on; a panic
// ends the worker, which its caller sees as *DiedError.
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
