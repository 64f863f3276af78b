package compile

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"autotune/space"
	"autotune/tuner/operator"
)

// sampled is how many configurations beside the default each template of a
// problem is compiled at for the newest architecture; none where tests are to be
// short.
const sampled = 1

// newest is the last of the architectures.
const newest = 90

// gpus are the architectures that every template must compile for.
var gpus = []operator.Limits{
	{Arch: 70, SMs: 80, MaxThreadsPerBlock: 1024, MaxSharedPerBlock: 96 << 10, SharedPerSM: 96 << 10,
		RegistersPerSM: 65536, WarpSize: 32, L2Bytes: 6 << 20, MemoryBytes: 80 << 30},
	{Arch: 80, SMs: 108, MaxThreadsPerBlock: 1024, MaxSharedPerBlock: 163 << 10, SharedPerSM: 164 << 10,
		RegistersPerSM: 65536, WarpSize: 32, L2Bytes: 40 << 20, MemoryBytes: 80 << 30},
	{Arch: newest, SMs: 132, MaxThreadsPerBlock: 1024, MaxSharedPerBlock: 227 << 10, SharedPerSM: 228 << 10,
		RegistersPerSM: 65536, WarpSize: 32, L2Bytes: 50 << 20, MemoryBytes: 80 << 30},
}

// largeShapes are the problems that the operators are made for; an operator
// without one is compiled at its example.
var largeShapes = map[string][]int64{
	"avg_pool1d":       {64, 128, 65536},
	"avg_pool2d":       {16, 64, 2048, 2048},
	"max_pool2d":       {32, 64, 512, 512},
	"conv2d":           {16, 16, 1024, 1024},
	"depthwise_conv2d": {16, 64, 512, 512},
}

// requestsOf are the problems that an operator's templates are compiled for: a
// small ragged one and the large one, in every math mode.
func requestsOf(o *operator.Operator) []operator.Request {
	small := []int64{2, 4, 37, 29}
	if len(o.Shape) == 3 {
		small = []int64{2, 4, 333}
	}
	large := largeShapes[o.Name]
	if large == nil {
		large = o.Example
	}
	var requests []operator.Request
	for _, math := range o.MathModes {
		_, variant := o.MathVariants[math]
		for i, shape := range [][]int64{small, large} {
			if len(shape) == len(o.Shape) && (i == 0 || !variant) { // a variant has the same kernels, but for headers
				requests = append(requests, operator.Request{Shape: shape, Math: math})
			}
		}
	}
	return requests
}

// variants gives a problem's reference and some configurations of each of its
// templates, the default first.
func variants(t *testing.T, p *operator.Problem) []operator.Kernel {
	t.Helper()
	reference, err := p.Reference()
	if err != nil {
		t.Fatalf("%s: %v", p, err)
	}
	kernels := []operator.Kernel{reference}
	all, err := p.Space(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", p, err)
	}
	chosen := p.Defaults(t.Context())
	if p.Limits.Arch == newest && !testing.Short() {
		rng := rand.New(rand.NewPCG(1, uint64(p.Limits.Arch)))
		for _, i := range all.Sample(rng, sampled*len(chosen)) {
			chosen = append(chosen, all.At(i))
		}
	}
	chosen = slices.CompactFunc(chosen, func(a, b space.Configuration) bool { return a.Key() == b.Key() })
	for _, configuration := range chosen {
		k, err := p.Kernel(configuration)
		if err != nil {
			t.Fatalf("%s, %s: %v", p, configuration, err)
		}
		kernels = append(kernels, k)
	}
	return kernels
}

func TestEveryTemplateCompiles(t *testing.T) {
	c := openNVRTC(t, runtime.NumCPU())
	operators, err := operator.Operators()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range operators {
		for _, gpu := range gpus {
			if testing.Short() && gpu.Arch != newest {
				continue
			}
			gpu.Target = Target(c.Version(), gpu.Arch)
			t.Run(fmt.Sprintf("%s/sm_%d", o.Name, gpu.Arch), func(t *testing.T) {
				for _, r := range requestsOf(o) {
					p, err := o.Bind(r, gpu)
					if err != nil {
						t.Fatal(err)
					}
					compileAll(t, c, p)
				}
			})
		}
	}
}

// compileAll compiles a problem's variants, as many at once as the compiler
// likes.
func compileAll(t *testing.T, c Compiler, p *operator.Problem) {
	t.Helper()
	var group sync.WaitGroup
	for _, k := range variants(t, p) {
		group.Go(func() {
			_, err := c.Compile(t.Context(), Request{Kernel: k, Arch: p.Limits.Target})
			var refused *Error
			switch {
			case errors.Is(err, ErrArch):
				t.Logf("not compiled: %v", err)
			case errors.As(err, &refused):
				t.Errorf("%s: %s %v: %v\n%s", p, k.Template, k.Macros, err, refused.Log)
			case err != nil:
				t.Errorf("%s: %v", p, err)
			}
		})
	}
	group.Wait()
}
