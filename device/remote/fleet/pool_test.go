package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"autotune/device"
	"autotune/device/remote"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/space"
	"autotune/tuner"
)

// mustBeWhole checks that every configuration of the toy has exactly one trial, and that the winner is the fastest
// configuration, with all of its evidence.
func mustBeWhole(t *testing.T, r *tuner.Result) {
	t.Helper()
	seen := map[string]bool{}
	for _, one := range r.Trials {
		if key := one.Configuration.Key(); seen[key] {
			t.Errorf("%s has two trials", key)
		} else {
			seen[key] = true
		}
		if one.Status != trial.OK {
			t.Errorf("%s ended as %s: %s", one.Configuration, one.Status, one.Message)
		}
	}
	if len(seen) != 144 {
		t.Errorf("%d configurations have trials, want 144", len(seen))
	}
	if r.Winner == nil || number(r.Winner.Configuration, "a") != 4 || number(r.Winner.Configuration, "b") != 3 || len(r.Ties) != 0 {
		t.Errorf("the winner is %v, with %d ties", r.Winner, len(r.Ties))
	}
}

func search(t *testing.T, d device.Device, o tuner.Options) *tuner.Result {
	t.Helper()
	r, err := tuner.Search(t.Context(), toyProblem(t), d, o)
	must.OK(t, err)
	return r
}

// The following tests search on several devices of one process, which must work like workers at a server.

func join(t *testing.T, gpus map[string]*fakeGPU, change ...func(*remote.PoolOptions)) *remote.Pool {
	t.Helper()
	var o remote.PoolOptions
	for _, c := range change {
		c(&o)
	}
	names := slices.Sorted(maps.Keys(gpus))
	d := remote.NewPool(gpus[names[0]], o)
	for _, name := range names {
		d.Join(remote.Member{Name: name, Device: gpus[name]})
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		for name, gpu := range gpus {
			if gpu.opened != gpu.closed {
				t.Errorf("%s opened %d sessions and closed %d", name, gpu.opened, gpu.closed)
			}
		}
	})
	return d
}

// Three devices share a search: each configuration runs once, every device does some of the work, and a second device
// confirms the winner.
func TestPool(t *testing.T) {
	gpus := map[string]*fakeGPU{"a": {evaluate: slowBowl}, "b": {evaluate: slowBowl}, "c": {evaluate: slowBowl}}
	d := join(t, gpus)
	r := search(t, d, tuner.Options{Strategy: "random"})
	mustBeWhole(t, r)
	if r.Gates == nil || r.Gates.Launches != 100 || r.Confirmation == nil || r.Confirmation.Worker == r.Winner.Worker {
		t.Errorf("gates %v, confirmed by %v, the winner's worker is %s", r.Gates, r.Confirmation, r.Winner.Worker)
	}
	for name, gpu := range gpus {
		if n := len(gpu.runs()); n < 144/9 {
			t.Errorf("%s ran %d configurations", name, n)
		}
	}
	alone := join(t, map[string]*fakeGPU{"a": {}, "b": {}})
	one := alone.Worker("b")
	if _, ok := one.(device.Pool); ok {
		t.Error("one device is a pool")
	}
	r = search(t, one, tuner.Options{Strategy: "random"})
	mustBeWhole(t, r)
	if r.Confirmation != nil || r.Winner.Worker != "b" {
		t.Errorf("a search on b: the winner is %s's, confirmed by %v", r.Winner.Worker, r.Confirmation)
	}
}

// A device that cannot go on leaves the pool with a message, and the other devices do its jobs.
func TestPoolLoses(t *testing.T) {
	said := make(chan string, 100)
	dead := func(context.Context, space.Configuration) (trial.Outcome, error) {
		return trial.Outcome{}, errors.New("the GPU has fallen off the bus")
	}
	d := join(t, map[string]*fakeGPU{"a": {evaluate: dead}, "b": {}, "c": {}}, func(o *remote.PoolOptions) { o.Say = func(text string) { said <- text } })
	mustBeWhole(t, search(t, d, tuner.Options{Strategy: "random"}))
	if got := fmt.Sprint(d.Workers()); got != "[b c]" {
		t.Errorf("the workers are %s", got)
	}
	if text := <-said; text != "worker a has ended: the GPU has fallen off the bus" {
		t.Errorf("said %q", text)
	}
	last := join(t, map[string]*fakeGPU{"a": {evaluate: dead}}, func(o *remote.PoolOptions) { o.Patience = 200 * time.Millisecond })
	_, err := tuner.Search(t.Context(), toyProblem(t), last, tuner.Options{})
	if !errors.Is(err, device.ErrGone) || !strings.Contains(err.Error(), "fallen off the bus") {
		t.Errorf("when the last has ended: %v", err)
	}
}

// A configuration that ends every device that runs it counts as crashed, and the search goes on.
func TestPoolDeliveries(t *testing.T) {
	deadly := func(_ context.Context, c space.Configuration) (trial.Outcome, error) {
		if number(c, "a") == 5 && number(c, "b") == 5 {
			return trial.Outcome{}, errors.New("the GPU has fallen off the bus")
		}
		return bowl(c), nil
	}
	gpus := map[string]*fakeGPU{}
	for i := range 5 {
		gpus[fmt.Sprint("w", i)] = &fakeGPU{evaluate: deadly}
	}
	r := search(t, join(t, gpus), tuner.Options{Strategy: "random"})
	if r.ByStatus[trial.Crashed] != 1 || r.ByStatus[trial.OK] != 143 {
		t.Errorf("by status: %v", r.ByStatus)
	}
	crashed := slices.IndexFunc(r.Trials, func(one trial.Trial) bool { return one.Status == trial.Crashed })
	if crashed < 0 || !strings.Contains(r.Trials[crashed].Message, "handed out 2 times") {
		t.Errorf("the crashed one is trial %d", crashed)
	}
}

// After Refill one device generates the new inputs at once, and each other device generates them before its next job.
func TestPoolInputs(t *testing.T) {
	gpus := map[string]*fakeGPU{"a": {}, "b": {}}
	d := join(t, gpus)
	problem, others := toyProblem(t), device.Inputs{Distribution: "normal", Seed: 7}
	s, err := d.Open(t.Context(), problem, nil, device.ProtocolFor(problem.Operator))
	if err == nil {
		err = s.Refill(t.Context(), others)
	}
	must.OK(t, err)
	if all := slices.Concat(gpus["a"].refilled, gpus["b"].refilled); !slices.Equal(all, []device.Inputs{others}) {
		t.Errorf("inputs were drawn as %+v", all)
	}
	if s.Ceilings().ReferenceMS != 100 {
		t.Errorf("the ceilings are %+v", s.Ceilings())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
