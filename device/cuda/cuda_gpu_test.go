//go:build cuda && gpu

package cuda

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/internal/test/testoperators"
	"autotune/operator"
)

// bench is a real GPU with one of the tests' operators open on it.
type bench struct {
	t       *testing.T
	device  device.Device
	session device.Session
	problem *operator.Problem
}

func openGPU(t *testing.T) device.Device {
	t.Helper()
	d, err := Open(t.Context(), 0, Options{})
	must.OK(t, err)
	t.Cleanup(func() { must.OK(t, d.Close()) })
	return d
}

// benchOf opens one of the tests' operators on a GPU.
func benchOf(t *testing.T, d device.Device, operator string, n int64, proto device.Protocol) *bench {
	t.Helper()
	b := &bench{t: t, device: d, problem: testoperators.Problem(t, operator, n, d.Info().Limits)}
	b.session = b.open(proto)
	return b
}

func openBench(t *testing.T, n int64, proto device.Protocol) *bench {
	t.Helper()
	b := &bench{t: t, device: openGPU(t)}
	b.problem = testoperators.Problem(t, "affine", n, b.device.Info().Limits)
	begin := time.Now()
	b.session = b.open(proto)
	t.Logf("opened in %v: %+v", time.Since(begin), b.session.Ceilings())
	return b
}

func (b *bench) open(proto device.Protocol) device.Session {
	b.t.Helper()
	k, err := b.problem.Reference()
	must.OK(b.t, err)
	s, err := b.device.Open(b.t.Context(), b.problem, b.compile(k), proto)
	must.OK(b.t, err)
	return s
}

func (b *bench) compile(k operator.Kernel) *compile.Binary {
	b.t.Helper()
	binary, err := b.device.Compiler().Compile(b.t.Context(), compile.Request{Kernel: k, Arch: b.device.Arch()})
	must.OK(b.t, err)
	return binary
}

func (b *bench) variant(mode int64) device.Variant {
	v := testoperators.Variant(b.t, b.problem, mode)
	v.Binary = b.compile(v.Kernel)
	return v
}

func (b *bench) evaluate(v device.Variant, best float64) trial.Outcome {
	b.t.Helper()
	begin := time.Now()
	e, err := b.session.Evaluate(b.t.Context(), v, best)
	must.OK(b.t, err)
	b.t.Logf("%v: %s %s %d samples of %d, median %.4f ms, error %.2g, %+v, verify %.2f ms, measure %.2f ms, %d MHz %v",
		time.Since(begin).Round(10*time.Microsecond), e.Status, e.Message, len(e.SamplesMS), e.Time.Batch, e.Time.Median,
		e.MaxAbsError, e.Resources, e.Phases.VerifyMS, e.Phases.MeasureMS, e.ClockMHz, e.Warnings)
	return e
}

// childPID returns the process that uses the GPU, found as the only child of this process that is a worker, or 0.
func childPID(t *testing.T) int {
	t.Helper()
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	must.OK(t, err)
	for _, path := range environments {
		text, err := os.ReadFile(path)
		words := strings.Split(string(text), "\x00")
		if err == nil && slices.Contains(words, "AUTOTUNE_WORKER="+workerName) && slices.Contains(words, fmt.Sprintf("AUTOTUNE_WORKER_PARENT=%d", os.Getpid())) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			return pid
		}
	}
	return 0
}

func TestGPUDescribes(t *testing.T) {
	infos, err := List(t.Context())
	must.OK(t, err)
	for _, i := range infos {
		t.Logf("%+v", i)
	}
	l := infos[0].Limits
	if l.Arch < 70 || l.SMs < 1 || l.MaxThreadsPerBlock != 1024 || l.MaxSharedPerBlock < 48<<10 ||
		l.SharedPerSM < l.MaxSharedPerBlock || l.RegistersPerSM < 1 || l.WarpSize != 32 || l.L2Bytes < 1<<20 || l.MemoryBytes < 1<<30 {
		t.Errorf("limits %+v", l)
	}
}

func TestGPURight(t *testing.T) {
	for _, n := range []int64{1, 3, 1000, 1 << 20, 1<<26 + 5} {
		b := openBench(t, n, testoperators.Protocol())
		for _, mode := range []int64{0, 6} {
			e := b.evaluate(b.variant(mode), 0)
			if e.Status != trial.OK || len(e.SamplesMS) != 12 || slices.Min(e.SamplesMS) <= 0 || e.MaxAbsError > 1e-5 {
				t.Errorf("n=%d mode %d: %+v", n, mode, e)
			}
			if e.Resources.Registers == 0 || e.Resources.Occupancy <= 0 || e.Resources.Occupancy > 1 {
				t.Errorf("n=%d mode %d: resources %+v", n, mode, e.Resources)
			}
		}
		if c := b.session.Ceilings(); c.CopyBytesPerMS <= 0 || c.ReferenceMS <= 0 {
			t.Errorf("ceilings %+v", c)
		}
	}
}

// The device must notice every fault in the table, and evaluate the next variant as if nothing had happened.
func TestGPUNotices(t *testing.T) {
	const n = 1<<20 + 3
	proto := testoperators.Protocol()
	proto.LaunchTimeout = 500 * time.Millisecond
	b := openBench(t, n, proto)
	tooMuchShared := b.variant(0)
	tooMuchShared.Kernel.Launches[0].SharedBytes = 1 << 20
	tooManyThreads := b.variant(0)
	tooManyThreads.Kernel.Launches[0].Block = [3]int64{2048, 1, 1}
	broken := b.variant(0)
	broken.Binary = &compile.Binary{Code: []byte("this is no cubin")}
	nameless := b.variant(0)
	nameless.Binary = &compile.Binary{Symbols: map[string]string{"affine_direct": "somebody_else"}, Code: nameless.Binary.Code}
	for _, tt := range []struct {
		name    string
		variant device.Variant
		status  trial.Status
		message string
	}{
		{"wrong value", b.variant(1), trial.WrongResult, "y differs from the reference in 1 of 1048579 elements, first at [777]"},
		{"left out", b.variant(7), trial.WrongResult, "524289 never written"},
		{"stray write", b.variant(4), trial.WrongResult, "1 word after y"},
		{"changed input", b.variant(5), trial.WrongResult, "it changed x"},
		{"shared", tooMuchShared, trial.Pruned, "shared memory"},
		{"threads", tooManyThreads, trial.Pruned, "block.x is 2048"},
		{"no binary", broken, trial.LaunchError, "refuses the binary"},
		{"no entry", nameless, trial.LaunchError, "find affine_direct in the binary"},
		{"fault", b.variant(2), trial.Crashed, "CUDA_ERROR_ILLEGAL_ADDRESS"},
		{"endless", b.variant(3), trial.Timeout, "500ms"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := b.evaluate(tt.variant, 0)
			if e.Status != tt.status || !strings.Contains(e.Message, tt.message) {
				t.Errorf("%s %q, want %s with %q", e.Status, e.Message, tt.status, tt.message)
			}
			if e := b.evaluate(b.variant(0), 0); e.Status != trial.OK {
				t.Errorf("the next variant: %s %s", e.Status, e.Message)
			}
		})
	}
}

func TestGPURaces(t *testing.T) {
	b := openBench(t, 1<<24, testoperators.Protocol())
	first := b.evaluate(b.variant(0), 0)
	for _, tt := range []struct {
		ratio   float64
		dropped bool
	}{{1, false}, {1.5, true}, {10, true}} {
		e := b.evaluate(b.variant(0), trial.Median(first.SamplesMS)/tt.ratio)
		if e.Dropped != tt.dropped || e.Status != trial.OK {
			t.Errorf("%g times the best: dropped %v after %d samples", tt.ratio, e.Dropped, len(e.SamplesMS))
		}
	}
}

// The test logs how much time a trial takes besides the kernel launches.
func TestGPUPace(t *testing.T) {
	b := openBench(t, 1<<26, testoperators.Protocol())
	v := b.variant(0)
	best := trial.Median(b.evaluate(v, 0).SamplesMS)
	const trials = 40
	begin := time.Now()
	var busy float64
	for range trials {
		e, err := b.session.Evaluate(t.Context(), v, best)
		if err != nil || e.Status != trial.OK {
			t.Fatalf("%+v, %v", e, err)
		}
		busy += e.Phases.VerifyMS + e.Phases.MeasureMS
	}
	took := time.Since(begin)
	t.Logf("%.1f trials a second; %.1f %% of the time inside the worker", trials/took.Seconds(), busy/float64(took.Milliseconds())*100)
}

// A worker process can hold several sessions, one after another and at the same time.
func TestGPUSessions(t *testing.T) {
	b := openBench(t, 1<<22, testoperators.Protocol())
	pid := childPID(t)
	for _, distribution := range operator.Distributions() {
		proto := testoperators.Protocol()
		proto.Distribution, proto.Seed = distribution, 99
		s := b.open(proto)
		e, err := s.Evaluate(context.Background(), b.variant(0), 0)
		if err != nil || e.Status != trial.OK {
			t.Errorf("%s: %+v, %v", distribution, e, err)
		}
		must.OK(t, s.Close())
	}
	if e := b.evaluate(b.variant(0), 0); e.Status != trial.OK {
		t.Errorf("the first session afterwards: %+v", e)
	}
	if again := childPID(t); again != pid {
		t.Errorf("the worker was started anew: %d, then %d", pid, again)
	}
}

func TestGPUMemory(t *testing.T) {
	d := openGPU(t)
	p := testoperators.Problem(t, "affine", d.Info().Limits.MemoryBytes/8, d.Info().Limits)
	b := &bench{t: t, device: d, problem: p}
	k, err := p.Reference()
	must.OK(t, err)
	_, err = d.Open(t.Context(), p, b.compile(k), testoperators.Protocol())
	if err == nil || !strings.Contains(err.Error(), "not enough device memory") {
		t.Errorf("a problem that is too large: %v", err)
	}
}

// The tensors hold 17 GB of input and 17 GB of output; verification must run at the memory's speed.
func TestGPUHuge(t *testing.T) {
	if testing.Short() || os.Getenv("AUTOTUNE_TEST_HUGE") == "" {
		t.Skip("set AUTOTUNE_TEST_HUGE=1 to run it; it takes 52 GB")
	}
	b := openBench(t, 1<<32, testoperators.Protocol())
	e := b.evaluate(b.variant(0), 0)
	if e.Status != trial.OK {
		t.Fatalf("%+v", e)
	}
	e = b.evaluate(b.variant(0), 0)
	// Verification makes six passes over memory: poison y, read x, write y, read both outputs, read x again.
	least := 4 * float64(b.problem.Arguments[0].Elements) * 6 / b.session.Ceilings().CopyBytesPerMS
	t.Logf("verified in %.1f ms; moving the bytes takes %.1f", e.Phases.VerifyMS, least)
	if e.Phases.VerifyMS > 1.5*least || math.IsNaN(least) {
		t.Errorf("verifying takes %.1f ms, moving the bytes %.1f", e.Phases.VerifyMS, least)
	}
}
