package tuner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"autotune/internal/output"
	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// What the gates go by. They end after the share of the search's time, or
// leastGates if that is longer.
const (
	gateLaunches = 100
	gateSeeds    = 3
	seedStep     = 101 // tensors of one problem have consecutive seeds
	gatesShare   = 10
	leastGates   = 3 * time.Second
	patientGates = time.Minute // where every variant is put through them: that was asked for
)

// Gates say what a winner was put through beyond the search: what it passed, and
// what there was no time for.
type Gates struct {
	Launches   int      `json:"launches"`             // compared with the reference, each on other outputs
	Exact      bool     `json:"exact"`                // and bit for bit with the first
	Inputs     int      `json:"inputs"`               // pairs of distribution and seed
	Neighbours []string `json:"neighbours,omitempty"` // ragged problems that its template serves
	LeftOut    []string `json:"left_out,omitempty"`   // for want of time or memory
	Skipped    string   `json:"skipped,omitempty"`    // what the operator has no answers for
	Seconds    float64  `json:"seconds"`
}

// String says what was tried, as in "100 launches bit for bit, 12 inputs, 3
// neighbours, in 0.4 s".
func (g *Gates) String() string {
	parts := []string{output.Count(g.Launches, "launch")}
	if g.Exact {
		parts[0] += " bit for bit"
	}
	parts = append(parts, output.Count(g.Inputs, "input"), output.Count(len(g.Neighbours), "neighbour"), fmt.Sprintf("in %.1f s", g.Seconds))
	text := strings.Join(parts, ", ")
	if len(g.LeftOut) > 0 {
		text += "; left out for want of time: " + strings.Join(g.LeftOut, ", ")
	}
	if g.Skipped != "" {
		text += "; skipped: " + g.Skipped
	}
	return text
}

// gate puts a configuration through the gates. One that fails at one becomes a
// wrong result, or what else happened to it, whose message names the gate.
func (f *finals) gate(ctx context.Context, id int64) error {
	v, ok, err := f.variant(ctx, id)
	if err != nil || !ok {
		return err
	}
	f.show(Gate)
	g := &gatekeeper{finals: f, variant: v, started: time.Now(), limit: max(leastGates, time.Since(f.search.started)/gatesShare)}
	if f.Gating == GateAll {
		g.limit = patientGates
	} else if f.Time > 0 {
		g.limit = min(g.limit, f.reserve()*3/4)
	}
	err = g.all(ctx)
	g.tried.Seconds = time.Since(g.started).Seconds()
	var refused *refusal
	if errors.As(err, &refused) {
		f.change(id, func(t *trial.Trial) { t.Fail(refused.status, refused.Error()) })
		return nil
	}
	if err == nil {
		f.passed[id] = &g.tried
	}
	return err
}

// gateAll puts every variant that was right so far through the gates.
func (f *finals) gateAll(ctx context.Context) error {
	for i, t := range f.trials {
		if t.Status != trial.OK {
			continue
		}
		if err := f.gate(ctx, f.outcomes[i].ID); err != nil {
			return err
		}
	}
	if id, ok := f.decided(); ok {
		f.gates = f.passed[id]
	}
	return nil
}

// refusal is how a variant failed at a gate.
type refusal struct {
	gate    string
	status  trial.Status
	message string
}

func (r *refusal) Error() string { return "gate " + r.gate + ": " + r.message }

// gatekeeper puts one variant through the gates.
type gatekeeper struct {
	*finals
	variant device.Variant
	tried   Gates
	started time.Time
	limit   time.Duration
	asked   time.Duration // what the last other inputs took
}

// asking is what it takes to be told what is right, where no kernel says it.
func (g *gatekeeper) asking() time.Duration {
	if g.problem.Operator.Answers == nil {
		return 0
	}
	return g.asked
}

func (g *gatekeeper) left() time.Duration { return g.limit - time.Since(g.started) }

// all opens the gates one after another; the inputs are afterwards what they
// were.
func (g *gatekeeper) all(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	compiled := make(chan []neighbour, 1) // while the GPU is at the other gates
	if !g.problem.Operator.Answers.Fixed() {
		go func() { compiled <- g.ragged(ctx) }()
	}
	if err := g.launches(); err != nil {
		return err
	}
	if g.problem.Operator.Answers.Fixed() {
		g.tried.Inputs, g.tried.Skipped = 1, "other inputs and neighbours, which the answers in files are not for"
		return nil
	}
	err := g.inputs(ctx)
	if failure := g.refill(g.Protocol.Inputs()); failure != nil {
		return failure // the next variant would be held against the wrong answer
	}
	if err != nil {
		return err
	}
	return g.neighbours(<-compiled)
}

// check launches the variant on the inputs of the moment.
func (g *gatekeeper) check(gate string, c device.Check) (launches int, err error) {
	err = g.pass(gate, g.variant, func(ctx context.Context, s device.Session) (o trial.Outcome, err error) {
		o, launches, err = s.Check(ctx, g.variant, c)
		return o, err
	})
	return launches, err
}

// pass has the device do the work of a gate, which the variant must come out of.
func (g *gatekeeper) pass(gate string, v device.Variant, work func(context.Context, device.Session) (trial.Outcome, error)) error {
	var o trial.Outcome
	j := g.evaluateAt(g.place, job{variant: v, work: func(ctx context.Context, s device.Session) (err error) {
		o, err = work(ctx, s)
		return err
	}})
	if j.err == nil && o.Status != trial.OK {
		return &refusal{gate, o.Status, o.Message}
	}
	return j.err
}

func (g *gatekeeper) refill(in device.Inputs) error {
	if g.filled == in {
		return nil
	}
	err := g.evaluateAt(g.place, job{variant: g.variant, work: func(ctx context.Context, s device.Session) error {
		return s.Refill(ctx, in)
	}}).err
	if err == nil {
		g.filled = in
	}
	return err
}

// launches repeats the launch on the inputs of the search, within half of the
// time.
func (g *gatekeeper) launches() (err error) {
	exact := g.problem.Operator.Deterministic
	g.tried.Exact = exact
	g.tried.Launches, err = g.check("launches", device.Check{Launches: g.Launches, Exact: exact, Limit: g.limit / 2})
	if err == nil && g.tried.Launches < g.Launches {
		g.leaveOut("%d of %d launches", g.Launches-g.tried.Launches, g.Launches)
	}
	return err
}

// inputs tries every distribution with several seeds; the first of both is what
// the launches were on.
func (g *gatekeeper) inputs(ctx context.Context) error {
	var all []device.Inputs
	for seed := range uint32(gateSeeds) {
		for _, distribution := range g.problem.Operator.Inputs {
			all = append(all, device.Inputs{Distribution: distribution, Seed: g.Protocol.Seed + seed*seedStep})
		}
	}
	searched := g.Protocol.Inputs()
	all = slices.DeleteFunc(all, func(in device.Inputs) bool { return in == searched })
	g.tried.Inputs = 1
	cost := milliseconds(g.ceilings.ReferenceMS)
	for i, in := range all {
		if cost > g.left() {
			g.leaveOut("%d of %d inputs", len(all)-i, len(all)+1)
			return nil
		}
		start := time.Now()
		if err := g.refill(in); err != nil {
			return err
		}
		if _, err := g.check(fmt.Sprintf("inputs %s, seed %d", in.Distribution, in.Seed), device.Check{}); err != nil {
			return err
		}
		g.tried.Inputs++
		cost = time.Since(start)
		g.asked = cost
	}
	return nil
}

func (g *gatekeeper) leaveOut(format string, values ...any) {
	g.tried.LeftOut = append(g.tried.LeftOut, fmt.Sprintf(format, values...))
}

// neighbour is a ragged problem near the searched one, and all that the device
// needs to run the configuration on it.
type neighbour struct {
	problem   *operator.Problem
	reference *compile.Binary
	variant   device.Variant
	err       error // what kept them from being compiled
}

// neighbours tries ragged problems near this one: a kernel may be right for the
// alignment of one shape only.
func (g *gatekeeper) neighbours(all []neighbour) error {
	share := g.problem.MemoryBytes()
	for _, n := range all {
		cost := max(milliseconds(g.ceilings.ReferenceMS), g.asking()) * time.Duration(n.problem.MemoryBytes()) / time.Duration(max(share, 1))
		if cost > g.left() {
			g.leaveOut("%s", n.problem)
			continue
		}
		err := g.neighbour(n)
		if errors.Is(err, device.ErrMemory) {
			g.leaveOut("%s (memory)", n.problem)
			continue
		}
		if err != nil {
			return err
		}
		g.tried.Neighbours = append(g.tried.Neighbours, n.problem.String())
	}
	return nil
}

// mostNeighbours is how many ragged problems a winner is tried on.
const mostNeighbours = 3

// ragged are the neighbours that the variant's template serves with the same
// configuration, compiled side by side.
func (g *gatekeeper) ragged(ctx context.Context) []neighbour {
	var found []neighbour
	request := g.problem.Record().Request()
	for _, shape := range raggedShapes(request.Shape) {
		r := request
		r.Shape = shape
		p, err := g.problem.Operator.Bind(r, g.problem.Limits)
		if err != nil {
			continue // the operator does not have it
		}
		if sp, err := p.Space(ctx); err == nil && len(found) < mostNeighbours {
			if _, served := sp.Index(g.variant.Configuration); served {
				found = append(found, neighbour{problem: p})
			}
		}
	}
	var group sync.WaitGroup
	for i := range found {
		group.Go(func() { found[i].err = g.compileNeighbour(ctx, &found[i]) })
	}
	group.Wait()
	return found
}

func (g *gatekeeper) compileNeighbour(ctx context.Context, n *neighbour) error {
	kernel, err := n.problem.Kernel(g.variant.Configuration)
	if err != nil {
		return err
	}
	request := compile.Request{Arch: g.device.Arch(), Timeout: g.Protocol.CompileTimeout, Problem: n.problem}
	if n.reference, err = compileReference(ctx, g.compiler, request); err != nil {
		return fmt.Errorf("%s: %w", n.gate(), err)
	}
	request.Kernel, request.Configuration = kernel, g.variant.Configuration
	n.variant = device.Variant{Configuration: g.variant.Configuration, Kernel: kernel}
	n.variant.Binary, err = g.compiler.Compile(ctx, request)
	var fault *compile.Error
	if errors.As(err, &fault) {
		return &refusal{n.gate(), trial.CompileError, fault.Error()}
	}
	return err
}

func (n *neighbour) gate() string { return "neighbour " + n.problem.String() }

// raggedShapes are shapes like one, but for alignment: every dimension one less;
// the first dimension one and the others odd; the first one and the last two one
// less; the last one less; the last one and the others odd.
func raggedShapes(shape []int64) [][]int64 {
	last := len(shape) - 1
	var all [][]int64
	for _, change := range []func(i int, d int64) int64{
		func(_ int, d int64) int64 { return d - 1 },
		func(i int, d int64) int64 { return oneOr(i == 0, odd(d)) },
		func(i int, d int64) int64 { return oneOr(i == 0 && last > 0, lessIf(i >= last-1, d)) },
		func(i int, d int64) int64 { return lessIf(i == last, d) },
		func(i int, d int64) int64 { return oneOr(i == last, odd(d)) },
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

// odd is the largest odd number below d.
func odd(d int64) int64 { return (d - 2) | 1 }

func oneOr(one bool, d int64) int64 {
	if one {
		return 1
	}
	return d
}

func lessIf(less bool, d int64) int64 {
	if less {
		return d - 1
	}
	return d
}

// neighbour runs the configuration on another problem.
func (g *gatekeeper) neighbour(n neighbour) error {
	if n.err != nil {
		return n.err
	}
	return g.pass(n.gate(), n.variant, func(ctx context.Context, _ device.Session) (o trial.Outcome, err error) {
		s, err := g.place.device.Open(ctx, n.problem, n.reference, g.Protocol)
		if err != nil {
			return o, err
		}
		o, _, err = s.Check(ctx, n.variant, device.Check{Launches: 2})
		return o, errors.Join(err, s.Close())
	})
}
