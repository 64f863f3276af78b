package final

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/operator"
	"autotune/space"
)

// neighbour is a ragged problem near the searched one, with the configuration's kernel compiled for it. Neighbouring
// problems are tried because a kernel may be right only for shapes with the alignment of the searched shape.
type neighbour struct {
	Subject   // holds the neighbouring problem
	reference *compile.Binary
	variant   device.Variant
	err       error // error from the compiler
}

func (n *neighbour) gate() string { return "neighbour " + n.Problem.String() }

// Nearby holds the neighbouring problems of a configuration, whose kernels are compiled in the background.
type Nearby struct {
	found    []neighbour
	known    chan struct{} // closed when found lists all neighbours
	compiled chan struct{} // closed when all kernels are compiled
}

// Ahead begins to compile a configuration's kernels for its neighbours in the background, until ctx is cancelled.
func Ahead(ctx context.Context, s Subject, c space.Configuration) *Nearby {
	n := &Nearby{known: make(chan struct{}), compiled: make(chan struct{})}
	go func() {
		defer close(n.compiled)
		for _, p := range neighbours(ctx, s.Problem, c) {
			s.Problem = p
			n.found = append(n.found, neighbour{Subject: s})
		}
		close(n.known)
		var group sync.WaitGroup
		for i := range n.found {
			group.Go(func() { n.found[i].err = n.found[i].compile(ctx, c) })
		}
		group.Wait()
	}()
	return n
}

// neighbours returns ragged problems near p for which the configuration is valid, too: first shapes without any
// alignment, then the nearest shapes that the template's constraints allow. neighbours returns nil if the configuration
// is valid for no other problem near p.
func neighbours(ctx context.Context, p *operator.Problem, c space.Configuration) []*operator.Problem {
	request := p.Record().Request()
	shape := request.Shape
	var found []*operator.Problem
	try := func(other []int64) (serves bool) {
		if slices.ContainsFunc(found, func(known *operator.Problem) bool { return slices.Equal(known.Shape, other) }) {
			return true
		}
		if len(found) == policy.neighbours || ctx.Err() != nil {
			return false
		}
		r := request
		r.Shape = other
		near, err := p.Operator.Bind(r, p.Limits)
		if err != nil || !near.Admits(c) {
			return false // the operator lacks the problem, or the configuration is not valid for it
		}
		found = append(found, near)
		return true
	}
	for _, other := range raggedShapes(shape) {
		try(other)
	}
	for _, side := range []int64{-1, 1} {
		for i := len(shape) - 1; i >= 0 && len(found) < policy.neighbours; i-- {
			for step := range steps {
				other := slices.Clone(shape)
				other[i] += side * step
				if other[i] < 1 || step > shape[i] || try(other) {
					break
				}
			}
		}
	}
	return found
}

// steps returns differences of sizes to try, some of which keep an alignment: small numbers, powers of two, and 1.5
// times these.
func steps(yield func(int64) bool) {
	const small = 32
	for step := int64(1); step < small; step++ {
		if !yield(step) {
			return
		}
	}
	for step := int64(small); step < 1<<40 && yield(step) && yield(step+step/2); step *= 2 {
	}
}

func (n *neighbour) compile(ctx context.Context, c space.Configuration) (err error) {
	if n.reference, err = device.CompileReference(ctx, n.Device, n.Problem, n.Protocol.CompileTimeout); err != nil {
		return fmt.Errorf("%s: %w", n.gate(), err)
	}
	var o trial.Outcome
	if n.variant, o, err = n.Compile(ctx, c); o.Status != "" {
		return refuse(n.gate(), o)
	}
	return err
}

// Compile compiles a configuration for the subject's device. If the compiler refuses the configuration, the outcome
// that Compile returns says why; otherwise it is empty.
func (s Subject) Compile(ctx context.Context, c space.Configuration) (v device.Variant, o trial.Outcome, err error) {
	v.Configuration = c
	if v.Kernel, err = s.Problem.Kernel(c); err != nil {
		return v, o, err
	}
	v.Binary, err = s.Device.Compiler().Compile(ctx, compile.Request{
		Kernel: v.Kernel, Arch: s.Device.Arch(), Timeout: s.Protocol.CompileTimeout,
		Problem: s.Problem, Configuration: c,
	})
	var refused *compile.Error
	if errors.As(err, &refused) {
		o.Fail(trial.CompileError, refused.Error())
		err = nil
	}
	return v, o, err
}

// The gate neighbours tries the variant on as many neighbouring problems as time and memory allow. If the time limit
// passes before the kernels for all neighbouring problems are compiled, all of these problems are left out.
func (g *gatekeeper) neighbours(ctx context.Context) error {
	<-g.nearby.known
	all := g.nearby.found
	g.tried.Alone = len(all) == 0
	select {
	case <-g.nearby.compiled:
	case <-time.After(g.left()):
		for i := range all { // its other fields may still be written to
			g.leaveOut("%s", all[i].Problem)
		}
		return nil
	}
	base := trial.DurationOf(g.Ceilings.ReferenceMS)
	if g.Problem.Operator.Answers != nil { // computing the correct answers takes time, too
		base = max(base, g.cost)
	}
	for _, n := range all {
		if base*time.Duration(n.Problem.MemoryBytes())/time.Duration(max(g.Problem.MemoryBytes(), 1)) > g.left() {
			g.leaveOut("%s", n.Problem)
			continue
		}
		err := g.neighbour(ctx, n)
		if errors.Is(err, device.ErrMemory) {
			g.leaveOut("%s (memory)", n.Problem)
			continue
		}
		if err != nil {
			return err
		}
		g.tried.Neighbours = append(g.tried.Neighbours, n.Problem.String())
	}
	return nil
}

func (g *gatekeeper) neighbour(ctx context.Context, n neighbour) error {
	if n.err != nil {
		return n.err
	}
	s, err := g.place.device.Open(ctx, n.Problem, n.reference, g.Protocol)
	if err != nil {
		return err
	}
	o, _, err := s.Check(ctx, n.variant, device.Check{Launches: 2})
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	return refuse(n.gate(), o)
}

// raggedShapes returns shapes near the given shape whose dimensions are less divisible by powers of two.
func raggedShapes(shape []int64) [][]int64 {
	last := len(shape) - 1
	var all [][]int64
	for _, change := range []func(i int, d int64) int64{
		// Every dimension of a shape becomes smaller by one.
		func(_ int, d int64) int64 { return d - 1 },
		// A shape's first dimension becomes 1, and its other dimensions become odd.
		func(i int, d int64) int64 { return choose(i == 0, 1, odd(d)) },
		// A shape's first dimension becomes 1, unless it is the only one, and its last two dimensions become
		// smaller by one.
		func(i int, d int64) int64 { return choose(i == 0 && last > 0, 1, choose(i >= last-1, d-1, d)) },
		// A shape's last dimension becomes smaller by one.
		func(i int, d int64) int64 { return choose(i == last, d-1, d) },
		// A shape's last dimension becomes 1, and its other dimensions become odd.
		func(i int, d int64) int64 { return choose(i == last, 1, odd(d)) },
	} {
		other := make([]int64, len(shape))
		for i, d := range shape {
			other[i] = max(1, change(i, d))
		}
		known := func(s []int64) bool { return slices.Equal(s, other) }
		if !known(shape) && !slices.ContainsFunc(all, known) {
			all = append(all, other)
		}
	}
	return all
}

func odd(d int64) int64 { return (d - 2) | 1 }

func choose(first bool, a, b int64) int64 {
	if first {
		return a
	}
	return b
}
