package batch

import (
	"context"
	"sync"

	"autotune/operator"
	"autotune/tuner"
	"autotune/tuner/devices"
)

// likelyAhead is how many configurations with low estimated times are compiled before their problem's search begins.
const likelyAhead = 8

// ahead compiles the first kernels of the next problem while the search of the current one runs. A search that could
// not compile ahead would try only the kernels that compile fastest, which are seldom the ones that run fastest.
type ahead struct {
	batch   *batch
	next    *Request // nil if no problem is left
	working sync.WaitGroup
}

// begin starts to compile the first kernels of the next problem, as soon as the current problem's device is open. The
// search of the next problem waits for compilations that were begun ahead, and compiles the rest of its kernels itself.
func (a *ahead) begin(ctx context.Context, on *devices.Opened) {
	if a == nil || a.next == nil {
		return
	}
	if kind := on.Device.Info().Kind.Properties(); !kind.Compiles || kind.Caveat != "" {
		return // estimates are valid for a GPU only
	}
	r := *a.next
	a.working.Go(func() {
		if opened, err := a.batch.open(ctx, r, a.batch.opener.Open); err == nil { // the search reports an error
			a.compile(ctx, opened, r.Only)
		}
	})
}

// compile uses half of the compilers, and leaves the other half to the search of the current problem.
func (a *ahead) compile(ctx context.Context, on *devices.Opened, only operator.Restriction) {
	part, err := on.Problem.Part(only)
	if err != nil {
		return // the problem's search reports the error
	}
	compiler := on.Device.Compiler()
	room := make(chan struct{}, max(1, compiler.Workers()/2))
	for _, r := range tuner.FirstCompilations(ctx, part, on.Device, likelyAhead) {
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil { // the select may have chosen a free compiler although ctx has ended
			return
		}
		a.working.Go(func() {
			defer func() { <-room }()
			_, _ = compiler.Compile(ctx, r) // the cache of binaries keeps refusals too; other errors do not matter here
		})
	}
}
