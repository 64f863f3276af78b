package batch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"autotune/device"
)

// pool returns a pool if each of its workers can search a problem of its own, otherwise nil.
func (b *batch) pool(ctx context.Context, problems []Request) device.Pool {
	if len(problems) < 2 || !b.opener.Several() {
		return nil
	}
	opened, err := b.open(ctx, problems[0], b.opener.Open)
	if err != nil {
		return nil // the search of this problem reports the error, and the others go on
	}
	pool, ok := opened.Device.(device.Pool)
	if !ok || len(pool.Workers()) < 2 || len(problems) < len(pool.Workers()) {
		return nil
	}
	if b.Notice != nil && opened.Notice != "" {
		b.Notice(opened.Notice)
	}
	return pool
}

// idle is how often a batch looks for new workers while no search ends.
const idle = 20 * time.Second

// ended reports that a problem's search on a worker has ended, and with what error.
type ended struct {
	worker  string
	request Request
	err     error
}

// sideBySide searches the problems at the same time. If the worker of a problem goes away, another worker continues
// the search from the trials in the cache.
func (b *batch) sideBySide(ctx context.Context, pool device.Pool, problems []Request) error {
	outer := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	b.workers = pool
	left, finished := b.divide(problems, len(pool.Workers())), 0
	working := map[string]bool{}
	ends := make(chan ended)
	for len(working) > 0 || len(left) > 0 && ctx.Err() == nil {
		for _, name := range pool.Workers() {
			if working[name] || len(left) == 0 || ctx.Err() != nil {
				continue
			}
			r := left[0]
			left, working[name] = left[1:], true
			search := func(r Request) error { return b.search(ctx, r, pool.Worker(name), nil) }
			go func() { ends <- ended{name, r, b.within(r, search)} }()
		}
		select {
		case e := <-ends:
			delete(working, e.worker)
			switch gone := errors.Is(e.err, device.ErrGone); {
			case gone && len(pool.Workers()) > 0:
				left = append([]Request{e.request}, left...)
			case Ends(outer, e.err):
				cancel(e.err)
			case ctx.Err() == nil:
				finished++
				b.tally(e.request, e.err)
			}
		case <-time.After(idle):
			if len(working) == 0 && len(pool.Workers()) == 0 {
				return fmt.Errorf("no worker is left, %d problems are not searched: %w", len(left), device.ErrGone)
			}
		}
		b.Stands(len(working) == 0 && len(left) == 0 || ctx.Err() != nil)
	}
	if outer.Err() == nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if ctx.Err() != nil {
		return &InterruptedError{fmt.Sprintf("interrupted after %d of %d problems; the same command goes on from there", finished, len(problems))}
	}
	return b.notAll()
}
