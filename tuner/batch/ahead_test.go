package batch

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/internal/test/must"
	"autotune/operator"
	"autotune/tuner"
	"autotune/tuner/devices"
)

// slowCompiler takes a second to compile a kernel.
type slowCompiler struct {
	compile.Compiler
	lock          sync.Mutex
	compiled      []string
	running, most int
}

func (c *slowCompiler) Workers() int { return 6 }

func (c *slowCompiler) Compile(ctx context.Context, r compile.Request) (*compile.Binary, error) {
	c.lock.Lock()
	c.running++
	c.most = max(c.most, c.running)
	c.compiled = append(c.compiled, r.Kernel.Digest())
	c.lock.Unlock()
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.running--
	return nil, ctx.Err()
}

type compilingDevice struct {
	device.Device
	compiler compile.Compiler
}

func (d compilingDevice) Compiler() compile.Compiler { return d.compiler }
func (d compilingDevice) Arch() string               { return "sm_90a" }

// Half of the compilers compile the first kernels of the next search before it begins, and all of them stop when the
// context is cancelled.
func TestCompilesAhead(t *testing.T) {
	op, err := operator.Find("matmul")
	must.OK(t, err)
	p, err := op.Bind(operator.Request{Shape: []int64{1, 64, 256, 256}, Math: "fp32"}, operator.TypicalLimits())
	must.OK(t, err)
	for _, cut := range []time.Duration{0, 1500 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			compiler := &slowCompiler{}
			on := &devices.Opened{Device: compilingDevice{compiler: compiler}, Problem: p}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if cut > 0 {
				time.AfterFunc(cut, cancel)
			}
			a := &ahead{}
			a.compile(ctx, on, operator.Restriction{})
			a.working.Wait()
			var want []string
			for _, r := range tuner.FirstCompilations(t.Context(), p.Whole(), on.Device, likelyAhead) {
				want = append(want, r.Kernel.Digest())
			}
			if cut > 0 {
				want = want[:min(len(want), 2*compiler.Workers()/2)]
			}
			slices.Sort(want)
			slices.Sort(compiler.compiled)
			if len(want) < 6 || !slices.Equal(compiler.compiled, want) || compiler.most != compiler.Workers()/2 {
				t.Errorf("compiled %d of %d, %d at a time", len(compiler.compiled), len(want), compiler.most)
			}
		})
	}
}
