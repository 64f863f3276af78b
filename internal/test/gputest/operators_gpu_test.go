//go:build cuda && gpu

package gputest

import (
	"context"
	"io"
	"os"
	"strconv"
	"testing"
	"time"

	"autotune/internal/test/must"

	"golang.org/x/sync/semaphore"

	"autotune/device/compile"
	"autotune/device/cuda"
	"autotune/device/recording"
	"autotune/internal/worker"
	"autotune/operator"
)

// drawnByDefault is how many configurations are drawn at random for each template and row.
const drawnByDefault = 6

func TestMain(m *testing.M) {
	worker.Dispatch(map[string]func(context.Context, io.Reader, io.Writer) error{"compile": compile.Worker, "cuda": cuda.Worker})
	os.Exit(m.Run())
}

// gpuSuite runs the table on a GPU. gpuSuite runs several problems at a time, so that the compilers always have work
// while the GPU evaluates one variant after another.
type gpuSuite struct {
	prover
	memory   *semaphore.Weighted // bytes of the GPU's memory
	capacity int64
}

func openSuite(t *testing.T) *gpuSuite {
	t.Helper()
	d, err := cuda.Open(t.Context(), 0, cuda.Options{})
	must.OK(t, err)
	t.Cleanup(func() { must.OK(t, d.Close()) })
	winners, err := recordedWinners(recording.Shipped())
	must.OK(t, err)
	s := &gpuSuite{prover: prover{device: d, drawn: drawnByDefault, winners: winners}}
	if text := os.Getenv("AUTOTUNE_TEST_VARIANTS"); text != "" {
		if s.drawn, err = strconv.Atoi(text); err != nil {
			t.Fatalf("AUTOTUNE_TEST_VARIANTS: %v", err)
		}
	}
	s.capacity = d.Info().Limits.MemoryBytes / 10 * 8
	s.memory = semaphore.NewWeighted(s.capacity)
	return s
}

func TestGPUOperators(t *testing.T) {
	begin := time.Now()
	s := openSuite(t)
	// Run returns when all parallel subtests of this group have ended.
	t.Run("operators", func(t *testing.T) {
		for _, o := range operators(t) {
			// Start with the largest problems, so that no other test waits for them at the end.
			for i := len(casesOf(o)) - 1; i >= 0; i-- {
				for _, math := range modes(o, casesOf(o)[i]) {
					p, err := bind(o, casesOf(o)[i], math, s.device.Info().Limits)
					must.OK(t, err)
					t.Run(p.String(), func(t *testing.T) {
						t.Parallel()
						s.run(t, p)
					})
				}
			}
		}
	})
	t.Logf("%v, %d drawn for each template and row\n%s", time.Since(begin).Round(time.Second), s.drawn, &s.tally)
}

// On a GPU, the examples are tested on small problems and on the large problems with which their speed is measured.
func TestGPUExamples(t *testing.T) {
	s := openSuite(t)
	s.launches = 3
	for _, o := range loadExamples(t) {
		problems := exampleProblems(t, o, s.device.Info().Limits)
		large, err := o.Bind(operator.Request{Shape: o.Example}, s.device.Info().Limits)
		must.OK(t, err)
		for _, p := range append(problems, large) {
			t.Run(p.String(), func(t *testing.T) { s.run(t, p) })
		}
	}
	t.Log("\n" + s.tally.String())
}

// run tests one problem as soon as enough GPU memory is free.
func (s *gpuSuite) run(t *testing.T, p *operator.Problem) {
	need := memoryOf(p)
	if need > s.capacity {
		t.Skipf("needs %d MiB of the GPU's memory", need>>20)
	}
	must.OK(t, s.memory.Acquire(t.Context(), need))
	defer s.memory.Release(need)
	s.proveAlone(t, p.Whole())
}

// memoryOf returns how many bytes of GPU memory the tests of a problem need: for each distribution of inputs, the
// tensors, the reference's output, guard zones and the buffer that flushes the cache.
func memoryOf(p *operator.Problem) int64 {
	const beside = 256 << 20
	each := p.MemoryBytes() + 4*p.Output().Elements + beside
	return each * int64(len(distributions(p, false)))
}
