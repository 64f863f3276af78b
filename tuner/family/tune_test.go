package family

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/internal/test/must"
	"autotune/internal/test/toy"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner"
	"autotune/tuner/batch"
	"autotune/tuner/devices"
)

// tilesOperator has a kernel whose blocks compute one tile each, in waves of as many blocks as fit the GPU. Each
// size n has a fastest tile size of its own, since the number of waves of blocks is rounded up.
var tilesOperator = toy.OpYAML("tiles", "free: [n]", `tunables:
      tile: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 26, 28, 30, 32]
      unroll: [1, 2, 4]`, "default: {tile: 1, unroll: 1}")

// opened is the toy device, opened for any problem.
type opened struct{ *toy.Device }

func (o opened) Open(_ context.Context, op *operator.Operator, r operator.Request) (*devices.Opened, error) {
	p, err := op.Bind(r, toy.Limits)
	return &devices.Opened{Device: o.Device, Problem: p}, err
}

// slab returns a device that runs tilesOperator. A configuration whose key is in `wrong` computes wrong results on the
// test device.
func slab(wrong map[string]bool) opened {
	return opened{&toy.Device{Of: func(p *operator.Problem, c space.Configuration) (trial.Outcome, error) {
		if wrong[c.Key()] {
			return trial.Outcome{Status: trial.WrongResult}, nil
		}
		return toy.Took(took(p, c)), nil
	}}}
}

// took simulates the time of a configuration of tilesOperator: it grows with the number of waves, and varies by a few
// percent with the configuration.
func took(p *operator.Problem, c space.Configuration) float64 {
	n, _ := p.Values["n"].AsFloat()
	tile, _ := c.Get("tile")
	unroll, _ := c.Get("unroll")
	own := fnv.New64a()
	own.Write([]byte(c.Key()))
	tiles, _ := tile.AsFloat()
	unrolled, _ := unroll.AsFloat()
	noise := math.Exp(0.04 * rand.New(rand.NewPCG(own.Sum64(), 1)).NormFloat64())
	return 0.01 * noise * math.Ceil(n/(132*tiles)) * (tiles + 4 + unrolled/8)
}

// tiles tunes a family of tilesOperator. The search of each sample is simulated: it has tried the 12 configurations
// that are fastest for the sample.
func tiles(t *testing.T, wrong map[string]bool) (*tuning, *Family) {
	t.Helper()
	op := toy.Operator(t, tilesOperator)
	plan, err := NewPlan(batch.Request{Operator: op}, Shapes{{{132, 4224}}}, 16, 20)
	must.OK(t, err)
	f := newTuning(slab(wrong).Open, plan, Options{MaxSlowdown: 1.03, Notice: func(string) {}})
	must.OK(t, f.begin(t.Context()))
	fastest := func(shape []int64) []tried {
		p, err := op.Bind(plan.at(shape, true), toy.Limits)
		must.OK(t, err)
		s, err := p.Space(t.Context())
		must.OK(t, err)
		var r tuner.Result
		for id := range s.Len() {
			one := trial.Trial{Configuration: s.At(id)}
			one.Status, one.Time.Median = trial.OK, took(p, s.At(id))
			r.Trials = append(r.Trials, one)
		}
		return triedIn(&r)[:12]
	}
	for _, shape := range plan.Samples {
		f.tried[key(shape, true)] = fastest(shape)
	}
	for _, shape := range plan.HeldOut {
		f.own[operator.FormatShape(shape)] = fastest(shape)[0].Configuration
	}
	family, err := f.settle(t.Context())
	must.OK(t, err)
	return f, family
}

// A decision tree with few kernels comes near the best time of each shape, including held-out shapes. Every entry has
// passed the gates, and no kernel with wrong results is an entry.
func TestTune(t *testing.T) {
	_, f := tiles(t, nil)
	if f.Regret.Samples.Worst > 1.1 || f.Regret.Samples.Of != 16 || f.Regret.Of != 20 || f.Regret.Mean > 1.15 {
		t.Errorf("samples: %s; held out: %s", f.Regret.Samples, f.Regret.Score)
	}
	for _, e := range f.Entries {
		if e.Gates == nil {
			t.Errorf("%s was put through %v", e.Configuration, e.Gates)
		}
	}
	out := f.Entries[0].Key()
	_, others := tiles(t, map[string]bool{out: true})
	for _, e := range others.Entries {
		if e.Key() == out {
			t.Errorf("%s is an entry, and wrong", e.Configuration)
		}
	}
}

// limited is a device that refuses shapes above a size, with an error about memory or with the error in its field
// `gone`.
type limited struct {
	open opening
	most int64
	gone error
}

func (l limited) Open(ctx context.Context, op *operator.Operator, r operator.Request) (*devices.Opened, error) {
	switch {
	case r.Shape[0] <= l.most:
		return l.open(ctx, op, r)
	case l.gone != nil:
		return nil, l.gone
	}
	return nil, fmt.Errorf("%w: the tensors take more", device.ErrMemory)
}

// A family leaves out exactly the shapes that the device refuses. If too few shapes of a family remain, the error says
// why.
func TestLeftOut(t *testing.T) {
	f, _ := tiles(t, nil)
	const most = 2000
	whole := f.open
	f.open = limited{open: whole, most: most}.Open
	must.OK(t, f.begin(t.Context()))
	want := len(lists.Where(f.Samples, func(s []int64) bool { return s[0] <= most }))
	timed, err := f.timeAll(t.Context(), f.Samples, nil)
	if err != nil || len(timed) != want || len(f.leftOut) != len(f.Samples)-want {
		t.Errorf("%d samples are timed, want %d; %v", len(timed), want, err)
	}
	for _, l := range f.leftOut {
		if !strings.Contains(l.Reason, "the tensors take more") {
			t.Error(l)
		}
	}
	f.open = limited{open: whole, most: 1}.Open
	if err := f.begin(t.Context()); !errors.Is(err, tuner.ErrNoVariant) || !strings.Contains(err.Error(), "the tensors take more") {
		t.Error(err)
	}
	f.open = limited{open: whole, most: 1, gone: device.ErrGone}.Open
	if err := f.begin(t.Context()); !errors.Is(err, device.ErrGone) {
		t.Error(err)
	}
}

// Candidates that are slower than farBehind times the fastest get few samples in the first round, while all kernels get
// enough samples in the second round.
func TestRounds(t *testing.T) {
	f, _ := tiles(t, nil)
	device := slab(nil)
	f.open = device.Open
	list, err := f.timeAll(t.Context(), f.Samples[:1], f.all())
	must.OK(t, err)
	all, n := device.Raced, len(f.candidates)
	for i, best := range all {
		if i > 0 && i < n && best < policy.farBehind*list[0].ownBest() || (i == 0 || i >= n) && best != 0 {
			t.Errorf("evaluation %d: against %v, the best is %v", i, best, list[0].ownBest())
		}
	}
	if len(all) <= n {
		t.Errorf("%d evaluations of %d candidates", len(all), n)
	}
}
