package batch

import (
	"context"
	"sync"

	"autotune/operator"
	"autotune/tuner"
	"autotune/tuner/devices"
)

// likelyAhead is how many configurations with low estimates are compiled before their search begins.
const likelyAhead = 8

// ahead compiles the first kernels of the next search while one runs. Otherwise a short search
// would try only what compiles fastest, which seldom runs fastest.
type ahead struct {
	batch   *batch
	next    *Request // nil: there is none
	working sync.WaitGroup
}

// begin begins to compile, once the device that compiles is open. The search itself waits for what is under way
// and compiles the rest.
func (a *ahead) begin(ctx context.Context, on *devices.Opened) {
	if a == nil || a.next == nil {
		return
	}
	if kind := on.Device.Info().Kind.Properties(); !kind.Compiles || kind.Caveat != "" {
		return // estimates are of a GPU
	}
	r := *a.next
	a.working.Go(func() {
		o := a.batch.options(r)
		opened, err := a.batch.open(ctx, r, a.batch.opener.Open)
		if err != nil {
			return // its search reports the error, and those below
		}
		if _, known, err := a.batch.Run.found(ctx, opened, o); known || err != nil {
			return
		}
		a.compile(ctx, opened, o.Only)
	})
}

// compile leaves half of the compilers to the search that runs.
func (a *ahead) compile(ctx context.Context, on *devices.Opened, only operator.Restriction) {
	part, err := on.Problem.Part(only)
	if err != nil {
		return // its search says why
	}
	compiler := on.Device.Compiler()
	room := make(chan struct{}, max(1, compiler.Workers()/2))
	for _, r := range tuner.FirstCompilations(ctx, part, on.Device, likelyAhead) {
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil { // there may be room as well
			return
		}
		a.working.Go(func() {
			defer func() { <-room }()
			_, _ = compiler.Compile(ctx, r) // refusals are kept as binaries are, and no other error is of interest here
		})
	}
}
