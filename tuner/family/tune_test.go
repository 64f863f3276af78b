package family

import (
	"context"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"
	"testing/fstest"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/operator"
	"autotune/reports"
	"autotune/space"
	"autotune/tuner"
	"autotune/tuner/devices"
)

// tilesOperator has a kernel whose blocks take a tile each, a wave of them after another. So each n has a tile of its own
// that is fastest.
const tilesOperator = `
operator: tiles
summary: copies its input
shape: [n]
tensors:
  - {name: x, role: input,  shape: [n]}
  - {name: y, role: output, shape: [n]}
inputs: [uniform01]
cost: [8*n, n]
reference: reference.cu
templates:
  - name: plain
    source: plain.cu
    free: [n]
    tunables:
      tile: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 26, 28, 30, 32]
      unroll: [1, 2, 4]
    launch: {block: [32, 1, 1], grid: ["ceil_div(n, tile)", 1, 1]}
    default: {tile: 1, unroll: 1}
`

// slab is a device in memory for kernels of the operator. Some configurations, by their keys, are wrong on it.
type slab struct {
	problem *operator.Problem
	wrong   map[string]bool
	raced   func(best, ms float64) // is told of each evaluation; may be nil
}

func (s slab) Open(_ context.Context, p *operator.Problem, _ *compile.Binary, _ device.Protocol) (device.Session, error) {
	s.problem = p
	return s, nil
}

func (s slab) Info() device.Info {
	return device.Info{Name: "slab", Kind: device.CUDA, Limits: operator.TypicalLimits()}
}
func (s slab) Arch() string               { return "sm_90" }
func (s slab) Compiler() compile.Compiler { return s }
func (s slab) Close() error               { return nil }
func (s slab) Version() string            { return "1" }
func (s slab) Workers() int               { return 4 }
func (s slab) Ceilings() device.Ceilings {
	return device.Ceilings{ReferenceMS: 100, CopyBytesPerMS: 1e9}
}

func (s slab) Compile(ctx context.Context, _ compile.Request) (*compile.Binary, error) {
	return &compile.Binary{}, ctx.Err()
}

func (s slab) Evaluate(_ context.Context, v device.Variant, best float64) (o trial.Outcome, err error) {
	if s.wrong[v.Configuration.Key()] {
		return trial.Outcome{Status: trial.WrongResult}, nil
	}
	o.Status = trial.OK
	ms := took(s.problem, v.Configuration)
	if s.raced != nil {
		s.raced(best, ms)
	}
	o.SetSamples([]float64{ms, ms, ms}, 1)
	return o, nil
}

func (s slab) Check(_ context.Context, _ device.Variant, c device.Check) (trial.Outcome, int, error) {
	return trial.Outcome{Status: trial.OK}, max(c.Launches, 1), nil
}

func (s slab) Refill(context.Context, device.Inputs) error { return nil }

// openedSlab opens a slab for problems.
type openedSlab struct{ slab }

func (o openedSlab) Open(_ context.Context, op *operator.Operator, r operator.Request) (*devices.Opened, error) {
	p, err := op.Bind(r, o.Info().Limits)
	return &devices.Opened{Device: o.slab, Problem: p}, err
}

// took is what a configuration of the tiles takes: as many waves as its tiles make, but for a few percent of its own.
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

// tiles is a family of tiles, settled. Each sample's search tried the dozen that are fastest there.
func tiles(t *testing.T, wrong map[string]bool) (*tuning, *Family) {
	t.Helper()
	op, err := operator.Load(fstest.MapFS{
		"op.yaml":      {Data: []byte(tilesOperator)},
		"reference.cu": {Data: []byte("extern \"C\" __global__ void tiles_reference(const float* x, float* y) {}\n")},
		"plain.cu":     {Data: []byte("extern \"C\" __global__ void tiles_plain(const float* x, float* y) {}\n")},
	}, ".")
	if err != nil {
		t.Fatal(err)
	}
	plans, _, err := Wish{Operator: op, Shapes: Shapes{{{132, 4224}}}, Samples: 16, HeldOut: 20}.Plans()
	if err != nil {
		t.Fatal(err)
	}
	f := &tuning{
		Options: Options{MaxSlowdown: 1.03, Notice: func(string) {}, Progress: func(Progress) {}},
		plan:    plans[0], opener: openedSlab{slab{wrong: wrong}}, started: time.Now(), found: map[string]reports.BestConfig{}, trials: map[string][]tried{},
	}
	if err := f.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	fastest := func(shape []int64) []tried {
		p, err := op.Bind(plans[0].at(shape, true), operator.TypicalLimits())
		if err != nil {
			t.Fatal(err)
		}
		s, err := p.Space(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var r tuner.Result
		for id := range s.Len() {
			one := trial.Trial{Configuration: s.At(id)}
			one.Status, one.Time.Median = trial.OK, took(p, s.At(id))
			r.Trials = append(r.Trials, one)
		}
		return triedIn(&r)[:12]
	}
	for _, shape := range plans[0].Samples {
		f.trials[key(shape, true)] = fastest(shape)
	}
	for _, shape := range plans[0].HeldOut {
		f.found[key(shape, false)] = reports.BestConfig{Configuration: fastest(shape)[0].Configuration}
	}
	family, err := f.settle(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return f, family
}

// A tree of few kernels comes near each shape's own best, also at shapes that it was not grown from. Each kernel passed
// the gates, and one that is wrong is no entry.
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
