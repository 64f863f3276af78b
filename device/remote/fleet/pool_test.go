package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"autotune/device"
	"autotune/device/remote"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/operator"
	"autotune/space"
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

// Devices of one process must do for a search what workers at a server do.

func join(t *testing.T, gpus map[string]*fakeGPU, change ...func(*remote.PoolOptions)) *remote.Pool {
	t.Helper()
	o := remote.PoolOptions{ControlEvery: 30 * time.Millisecond}
	for _, c := range change {
		c(&o)
	}
	names := slices.Sorted(maps.Keys(gpus))
	d := remote.NewPool(remote.Member{Name: names[0], Device: gpus[names[0]]}, o)
	for _, name := range names {
		must.OK(t, d.Join(t.Context(), remote.Member{Name: name, Device: gpus[name]}))
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

// Three devices share a search: each configuration runs once, all have their part, and a
// second device confirms the winner.
func TestPool(t *testing.T) {
	gpus := map[string]*fakeGPU{"a": {evaluate: slowBowl}, "b": {evaluate: slowBowl}, "c": {evaluate: slowBowl}}
	d := join(t, gpus)
	r := search(t, d, tuner.Options{Strategy: "random"})
	mustBeWhole(t, r)
	if r.Gates == nil || r.Gates.Launches != 100 || r.Confirmation == nil || r.Confirmation.Worker == r.Winner.Worker || r.Winner.ControlMS != 0.1 {
		t.Errorf("gates %v, confirmed by %v, the winner's worker is %s, its control took %v", r.Gates, r.Confirmation, r.Winner.Worker, r.Winner.ControlMS)
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

// A device that cannot go on leaves, with words, and the others do what it had.
func TestPoolLoses(t *testing.T) {
	said := make(chan string, 100)
	dead := func(context.Context, space.Configuration) (trial.Outcome, error) {
		return trial.Outcome{}, errors.New("the GPU has fallen off the bus")
	}
	d := join(t, map[string]*fakeGPU{"a": {evaluate: dead}, "b": {}, "c": {}}, func(o *remote.PoolOptions) { o.Say = func(text string) { said <- text } })
	mustBeWhole(t, search(t, d, tuner.Options{Strategy: "random"}))
	time.Sleep(100 * time.Millisecond) // the controls of the others are timed meanwhile
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

// A configuration that ends every device that takes it has crashed, and the search goes on.
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

// A device whose control cannot be timed at all is an error.
func TestControlFails(t *testing.T) {
	m := remote.Member{Name: "a", Device: &fakeGPU{open: func(*operator.Problem) error { return device.ErrMemory }}}
	err := remote.NewPool(m, remote.PoolOptions{}).Join(t.Context(), m)
	if !errors.Is(err, device.ErrMemory) || !strings.Contains(err.Error(), "worker a: the control") {
		t.Errorf("got %v", err)
	}
}

// Other inputs come to a device at once, and to another when it gets its next job.
func TestPoolInputs(t *testing.T) {
	gpus := map[string]*fakeGPU{"a": {}, "b": {}}
	d := join(t, gpus)
	problem, others := toyProblem(t), device.Inputs{Distribution: "normal", Seed: 7}
	s, err := d.Open(t.Context(), problem, nil, device.ProtocolFor(problem.Operator))
	if err == nil {
		err = s.Refill(t.Context(), others)
	}
	if err != nil {
		t.Fatal(err)
	}
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

// dial is a control whose answer a test changes.
type dial struct {
	mu  sync.Mutex
	now trial.Outcome
}

func (d *dial) set(o trial.Outcome) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = o
}

func (d *dial) get() trial.Outcome {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

// A device is set aside with a message when its control is not what it was, or its GPU is throttled or shared. It
// comes back when that is over.
func TestControl(t *testing.T) {
	with := func(w trial.Warning) trial.Outcome {
		o := took(0.1)
		o.Warnings = []trial.Warning{w}
		return o
	}
	for name, test := range map[string]struct {
		off  trial.Outcome
		want string
	}{
		"slower":    {took(0.104), "its control takes 0.104 ms, and took 0.1 ms at its start"},
		"faster":    {took(0.09), "its control takes 0.09 ms, and took 0.1 ms at its start"},
		"throttled": {with(trial.Warning{Kind: trial.Throttled, Reason: "power"}), "throttled: power"},
		"shared":    {with(trial.Warning{Kind: trial.OtherProcess, PID: 17}), "another process was on the GPU: process 17"},
		"crashed":   {trial.Outcome{Status: trial.Crashed, Message: "no answer"}, "its control ended as crashed: no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			control, said := &dial{now: took(0.1)}, make(chan string, 100)
			d := join(t, map[string]*fakeGPU{"a": {control: control.get}, "b": {}, "c": {name: "Other 200"}}, func(o *remote.PoolOptions) {
				o.Say = func(text string) { said <- text }
			})
			control.set(test.off)
			await(t, "the device to be set aside", func() bool { return fmt.Sprint(d.Workers()) == "[b]" })
			control.set(took(0.1))
			await(t, "the device to be back", func() bool { return fmt.Sprint(d.Workers()) == "[a b]" })
			for _, want := range []string{
				"worker c is left out: it is Other 200, and not Fake 100", "worker a is set aside: " + test.want, "worker a takes jobs again",
			} {
				if text := <-said; !strings.HasPrefix(text, want) && !strings.Contains(text, test.want) {
					t.Errorf("said %q, want %q", text, want)
				}
			}
		})
	}
}

// Once is no reason: a control that is off a single time changes nothing. Neither does noise, which overlaps with the
// start.
func TestControlIsPatient(t *testing.T) {
	times := 0
	d := join(t, map[string]*fakeGPU{"a": {control: func() trial.Outcome {
		if times++; times%3 == 0 {
			return took(0.15)
		}
		return took(0.1)
	}}})
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if len(d.Workers()) != 1 {
			t.Fatal("the device was set aside")
		}
	}
}

// A device that is slower than the others of its model is set aside, and gets no jobs.
func TestControlAmongOthers(t *testing.T) {
	slow := &fakeGPU{control: func() trial.Outcome { return took(0.12) }}
	d := join(t, map[string]*fakeGPU{"a": {}, "b": {}, "slow": slow})
	await(t, "the other two", func() bool { return fmt.Sprint(d.Workers()) == "[a b]" })
	mustBeWhole(t, search(t, d, tuner.Options{Strategy: "random"}))
	if n := len(slow.runs()); n > 0 {
		t.Errorf("the device that was set aside ran %d configurations", n)
	}
}

// When all are set aside, the search ends and says why.
func TestAllAside(t *testing.T) {
	control := &dial{now: took(0.1)}
	gpu := &fakeGPU{control: control.get, evaluate: func(_ context.Context, c space.Configuration) (trial.Outcome, error) {
		control.set(took(0.2))
		time.Sleep(evaluation)
		return bowl(c), nil
	}}
	d := join(t, map[string]*fakeGPU{"a": gpu}, func(o *remote.PoolOptions) { o.Patience = 300 * time.Millisecond })
	_, err := tuner.Search(t.Context(), toyProblem(t), d, tuner.Options{})
	if err == nil || !strings.Contains(err.Error(), "no worker has been there for 300ms; worker a: its control takes 0.2 ms") {
		t.Errorf("got %v", err)
	}
}
