package pool

import (
	"context"
	"errors"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/remote"
)

// compiler compiles on the workers, whose binaries stay with them.
type compiler struct{ pool *Pool }

// Compiler compiles on the workers.
func (p *Pool) Compiler() compile.Compiler { return compiler{p} }

func (c compiler) Version() string { return c.pool.Info().Compiler }

// Bounds on compilations: how far they are ahead of a worker, and how long one may take.
const (
	compilersAWorker = 16
	mostCompiling    = 10 * time.Minute
)

// Workers is how many compilations are worth running at once.
func (c compiler) Workers() (total int) {
	for _, compilers := range c.pool.Roster.Compilers() {
		total += min(compilers, compilersAWorker)
	}
	return max(1, total)
}

// Compile has a worker make the kernel and compile it. The binary has no code: where it
// runs, it is known by its kernel.
func (c compiler) Compile(ctx context.Context, r compile.Request) (*compile.Binary, error) {
	if r.Problem == nil {
		return nil, errors.New("the workers of a pool compile kernels of problems only")
	}
	proto := device.ProtocolFor(r.Problem.Operator)
	key, err := c.pool.Announce(r.Problem, proto)
	if err != nil {
		return nil, err
	}
	q := remote.Request{
		Kind: remote.Compile, Problem: key, Configuration: r.Configuration, Digest: r.Kernel.Digest(), Limit: min(r.Timeout, mostCompiling), Inputs: proto.Inputs(),
	}
	a, err := c.pool.Do(ctx, "", remote.Job{Request: q, Problem: r.Problem, Kernel: r.Kernel})
	if errors.Is(err, remote.ErrDeadly) {
		return nil, &compile.Error{File: r.Kernel.File, Message: err.Error(), Crashed: true}
	}
	if err != nil {
		return nil, err
	}
	return a.Compiled, nil
}

// Close does nothing: the compilers are the workers'.
func (c compiler) Close() error { return nil }
