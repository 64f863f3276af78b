package fleet_test

import (
	"errors"
	"fmt"
	"testing"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/remote/fleet"
	"autotune/device/trial"
	"autotune/operator"
	"autotune/tuner"
)

// mustBeWhole sees that every configuration of the toy has one trial. The winner must be
// the bowl's bottom, and nothing of it may be left out.
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
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Three workers share a search: each configuration runs once, is compiled once, and the
// winner is one device's, through all the gates and confirmed.
func TestPool(t *testing.T) {
	p := newPlace(t)
	gpus := map[string]*fakeGPU{"a": {}, "b": {}, "c": {}}
	for name, gpu := range gpus {
		p.worker(name, gpu)
	}
	r := search(t, p.pool(3), tuner.Options{Strategy: "random"})
	mustBeWhole(t, r)
	if r.Gates == nil || r.Gates.Launches != 100 || r.Confirmation == nil || r.Confirmation.Worker == r.Winner.Worker {
		t.Errorf("gates %v, confirmed by %v, the winner's worker is %s", r.Gates, r.Confirmation, r.Winner.Worker)
	}
	if r.Winner.ControlMS != 0.1 || r.Ceilings.ReferenceMS != 100 {
		t.Errorf("the control took %v ms, the reference %v", r.Winner.ControlMS, r.Ceilings.ReferenceMS)
	}
	problem, compiled, shares := toyProblem(t), map[string]int{}, map[string]int{}
	for _, gpu := range gpus {
		for digest, n := range gpu.compiled {
			compiled[digest] += n
		}
	}
	for _, one := range r.Trials {
		shares[one.Worker]++
		k, err := problem.Kernel(one.Configuration)
		if err != nil || compiled[k.Digest()] != 1 {
			t.Errorf("%s was compiled %d times, %v", one.Configuration, compiled[k.Digest()], err)
		}
	}
	for name := range gpus {
		if shares[name] < 144/9 {
			t.Errorf("the workers' shares are %v", shares)
		}
	}
}

// A search on one of the workers stays there, from the first trial to the gates.
func TestOneWorkerOfAPool(t *testing.T) {
	p := newPlace(t)
	gpus := map[string]*fakeGPU{"a": {}, "b": {}}
	for name, gpu := range gpus {
		p.worker(name, gpu)
	}
	d := p.pool(2).Worker("b")
	if _, ok := d.(device.Pool); ok {
		t.Error("one worker is a pool")
	}
	r := search(t, d, tuner.Options{Strategy: "random"})
	mustBeWhole(t, r)
	if len(gpus["a"].runs()) > 0 || r.Gates == nil || r.Confirmation != nil || r.Winner.Worker != "b" {
		t.Errorf("the other worker ran %d configurations; the winner is %s's, gates %v, confirmed by %v", len(gpus["a"].runs()), r.Winner.Worker, r.Gates, r.Confirmation)
	}
}

// What the compiler refuses and what fails is a trial, as on one device.
func TestPoolTellsFailuresApart(t *testing.T) {
	p := newPlace(t)
	gpu := &fakeGPU{refuse: func(k operator.Kernel) error {
		for _, m := range k.Macros {
			if m.Name == "A" && m.Value == "7" {
				return &compile.Error{File: "plain.cu", Line: 3, Message: "seven is not allowed", Log: "plain.cu(3): error"}
			}
		}
		return nil
	}}
	p.worker("a", gpu)
	r := search(t, p.pool(1), tuner.Options{Strategy: "random"})
	if r.ByStatus[trial.CompileError] != 12 || r.ByStatus[trial.OK] != 132 {
		t.Errorf("by status: %v", r.ByStatus)
	}
	for _, one := range r.Trials {
		if one.Status == trial.CompileError && one.Reason() != "plain.cu:3: seven is not allowed" {
			t.Errorf("the reason is %q", one.Reason())
		}
	}
}

// A problem that fails everywhere ends the search with the error that it has on one
// device.
func TestPoolTellsErrorsApart(t *testing.T) {
	var reference *device.ReferenceError
	for name, test := range map[string]struct {
		gpu  *fakeGPU
		want func(error) bool
	}{
		"memory": {&fakeGPU{open: onToy(fmt.Errorf("too large: %w", device.ErrMemory))}, func(err error) bool { return errors.Is(err, device.ErrMemory) }},
		"reference": {&fakeGPU{open: onToy(&device.ReferenceError{Operator: "toy", Fault: "gives NaN"})}, func(err error) bool {
			return errors.As(err, &reference) && reference.Fault == "gives NaN" && reference.Operator == "toy"
		}},
		"refused reference": {&fakeGPU{refuse: func(k operator.Kernel) error {
			if k.Operator == "toy" {
				return &compile.Error{File: k.File, Line: 1, Message: "no"}
			}
			return nil
		}}, func(err error) bool {
			return errors.As(err, &reference) && reference.Fault == "does not compile: reference.cu:1: no"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.worker("a", test.gpu)
			if _, err := tuner.Search(t.Context(), toyProblem(t), p.pool(1), tuner.Options{}); !test.want(err) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func onToy(err error) func(*operator.Problem) error {
	return func(p *operator.Problem) error {
		if p.Operator.Name == "toy" {
			return err
		}
		return nil
	}
}

// Workers unlike the first are left out, and it is said why; --gpu chooses others.
func TestPoolOfOneModel(t *testing.T) {
	p := newPlace(t)
	p.worker("a", &fakeGPU{})
	p.worker("b", &fakeGPU{name: "Other 200"})
	p.worker("c", &fakeGPU{driver: "999"})
	p.worker("d", &fakeGPU{})
	look := p.connect("look")
	p.await("four workers", func() bool {
		all, err := look.Look(t.Context())
		return err == nil && len(all) == 4
	})
	d := p.pool(2)
	if got := fmt.Sprint(d.Workers()); got != "[a d]" {
		t.Errorf("the workers are %s", got)
	}
	want := map[string]bool{
		"pool: worker b is left out: it is Other 200, and not Fake 100":    true,
		"pool: worker c is left out: its driver is 999, and not ":          true,
		"pool: worker c is left out: its driver is 999, and not Fake 100 ": false,
	}
	p.await("words about those left out", func() bool {
		select {
		case text := <-p.said:
			delete(want, text)
		default:
		}
		return len(want) == 1
	})
	other := p.pool(1, func(o *fleet.Options) { o.GPU = "other" })
	if other.Info().Name != "Other 200" {
		t.Errorf("--gpu other gives %s", other.Info().Name)
	}
}

// Without a worker there is no pool, and the reason is told.
func TestPoolOfNobody(t *testing.T) {
	p := newPlace(t)
	_, err := fleet.Open(t.Context(), p.connect("search"), fleet.Options{Wait: 1})
	if !errors.Is(err, device.ErrNone) {
		t.Errorf("got %v", err)
	}
	p.worker("a", &fakeGPU{})
	p.pool(1)
	_, err = fleet.Open(t.Context(), p.connect("search"), fleet.Options{Wait: 300e6, GPU: "B200"})
	if want := `no worker with "B200" can be used: a has Fake 100: no such device`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Two searches share the workers, and neither sees the other's.
func TestTwoSearchesOnOnePool(t *testing.T) {
	p := newPlace(t)
	p.worker("a", &fakeGPU{})
	p.worker("b", &fakeGPU{})
	results := make(chan *tuner.Result, 2)
	for range 2 {
		d := p.pool(2)
		go func() {
			r, err := tuner.Search(t.Context(), toyProblem(t), d, tuner.Options{Strategy: "random"})
			if err != nil {
				t.Error(err)
			}
			results <- r
		}()
	}
	for range 2 {
		if r := <-results; r != nil {
			mustBeWhole(t, r)
		}
	}
}
