package gputest

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"autotune/internal/test/must"

	"golang.org/x/sync/errgroup"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/operator"
	"autotune/space"
)

// prover compares kernels with their references on one device and counts the results.
type prover struct {
	device device.Device
	drawn  int // configurations drawn at random for each template and row, over its math modes
	// launches is how often each variant is launched again; the output of every launch is compared.
	launches int
	winners  map[string][]space.Configuration
	few      bool // distributions: other tests have all of them
	// inputs returns the distributions to test an operator on. If inputs is nil, the tests use the distributions that
	// the operator's op.yaml lists.
	inputs func(*operator.Operator) []string
	tally  tally
}

// distributions returns the input distributions that a problem is tested on: all that its operator declares, or at most
// two if few is true or the tensors are large.
func distributions(p *operator.Problem, few bool) []string {
	const large = 256 << 20
	all := p.Operator.Inputs
	if !few && p.MemoryBytes() < large {
		return all
	}
	two := slices.DeleteFunc(slices.Clone(all), func(name string) bool {
		return name != "normal" && name != "special"
	})
	if len(two) == 0 {
		return all[:1]
	}
	return two
}

// proveAlone tests a problem with a reference of its own, which it compiles if the reference is a kernel.
func (v *prover) proveAlone(t *testing.T, part *operator.Part) {
	t.Helper()
	p := part.Problem
	if p.Operator.Answers != nil {
		v.prove(t, part, nil)
		return
	}
	reference, err := p.Reference()
	must.OK(t, err)
	b, err := v.device.Compiler().Compile(t.Context(), compile.Request{Kernel: reference, Arch: v.device.Arch()})
	must.OK(t, err)
	v.prove(t, part, b)
}

// prove runs a problem's chosen configurations on each distribution.
func (v *prover) prove(t *testing.T, part *operator.Part, reference *compile.Binary) {
	t.Helper()
	p := part.Problem
	choices, err := v.choose(t.Context(), part)
	must.OK(t, err)
	all := distributions(p, v.few)
	if v.inputs != nil {
		all = v.inputs(p.Operator)
	}
	sessions := map[string]device.Session{}
	for _, distribution := range all {
		s, err := v.device.Open(t.Context(), p, reference, protocol(distribution))
		if err != nil {
			t.Fatalf("%s, %s: %v", p, distribution, err)
		}
		defer s.Close()
		sessions[distribution] = s
	}

	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(v.device.Compiler().Workers())
	for _, c := range choices {
		group.Go(func() error { return v.proveOne(ctx, t, p, c, sessions) })
	}
	must.OK(t, group.Wait())
}

// proveOne compiles a configuration and evaluates it. proveOne returns an error if the device or the compiler cannot go
// on, and fails t if the variant is wrong.
func (v *prover) proveOne(ctx context.Context, t *testing.T, p *operator.Problem, c space.Configuration, sessions map[string]device.Session) error {
	k, err := p.Kernel(c)
	if err != nil {
		return err
	}
	b, err := v.device.Compiler().Compile(ctx, compile.Request{Kernel: k, Arch: v.device.Arch()})
	if err != nil {
		if ctx.Err() == nil {
			v.tally.variant(p, c, trial.Outcome{Status: trial.CompileError})
			t.Errorf("%s\n  %s: %v", p, c, err)
		}
		return ctx.Err()
	}
	variant := device.Variant{Configuration: c, Kernel: k, Binary: b}
	for _, distribution := range slices.Sorted(maps.Keys(sessions)) {
		// No kernel is as fast as the time best, so the device stops timing each kernel after its first samples.
		const best = 1e-6
		e, err := sessions[distribution].Evaluate(ctx, variant, best)
		if err != nil {
			return fmt.Errorf("%s, %s on %s: %w", p, c, distribution, err)
		}
		if e.Status == trial.OK && v.launches > 0 {
			check := device.Check{Launches: v.launches, Exact: p.Operator.Deterministic}
			if e, _, err = sessions[distribution].Check(ctx, variant, check); err != nil {
				return fmt.Errorf("%s, %s on %s: %w", p, c, distribution, err)
			}
		}
		v.tally.variant(p, c, e)
		if e.Status != trial.OK && e.Status != trial.Pruned {
			t.Errorf("%s\n  %s on %s: %s: %s", p, c, distribution, e.Status, e.Message)
		}
	}
	return nil
}

// protocol returns settings for a device, which verifies each variant and times it as little as possible.
func protocol(distribution string) device.Protocol {
	p := device.DefaultProtocol()
	p.Samples, p.MinSamples, p.WarmUp, p.BatchBelow, p.Distribution = 1, 1, 0, 0, distribution
	p.LaunchTimeout = 2 * time.Minute // an emulated launch is slow on a busy machine
	return p
}

// choose lists the configurations to test: defaults, recorded winners, and (in every run the same) random ones.
func (v *prover) choose(ctx context.Context, part *operator.Part) ([]space.Configuration, error) {
	p := part.Problem
	s, err := part.Space(ctx)
	if err != nil {
		return nil, err
	}
	var chosen []int64
	for _, c := range part.Defaults(ctx) {
		if i, ok := s.Index(c); ok {
			chosen = append(chosen, i)
		}
	}
	for _, w := range v.winners[p.Operator.Name] {
		if i, ok := s.Index(w); ok {
			chosen = append(chosen, i)
		}
	}
	text := fnv.New64a()
	_, _ = text.Write([]byte(p.String()))
	rng := rand.New(rand.NewPCG(text.Sum64(), 1))
	for part := range s.Parts() {
		first, end := s.Range(part)
		chosen = append(chosen, draw(rng, first, end, v.drawn/len(p.Operator.MathModes))...)
	}
	slices.Sort(chosen)
	var choices []space.Configuration
	for _, i := range slices.Compact(chosen) {
		choices = append(choices, s.At(i))
	}
	return choices, nil
}

// draw returns n different random integers from first to end - 1, or all of these integers if there are at most n.
func draw(rng *rand.Rand, first, end int64, n int) []int64 {
	if end-first <= int64(n) {
		var all []int64
		for i := first; i < end; i++ {
			all = append(all, i)
		}
		return all
	}
	drawn := map[int64]bool{}
	for len(drawn) < n {
		drawn[first+rng.Int64N(end-first)] = true
	}
	return slices.Sorted(maps.Keys(drawn))
}
