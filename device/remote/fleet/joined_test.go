package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"autotune/device"
	"autotune/device/remote"
	"autotune/device/trial"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner"
)

// Devices of one process must do for a search what workers at a server do.

func join(t *testing.T, gpus map[string]*fakeGPU, change ...func(*remote.JoinOptions)) *remote.Joined {
	t.Helper()
	var members []remote.Member
	for name, gpu := range gpus {
		members = append(members, remote.Member{Name: name, Device: gpu})
	}
	o := remote.JoinOptions{ControlEvery: 30 * time.Millisecond}
	for _, c := range change {
		c(&o)
	}
	d, err := remote.Join(t.Context(), members, o)
	if err != nil {
		t.Fatal(err)
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
func TestJoined(t *testing.T) {
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
func TestJoinedLoses(t *testing.T) {
	said := make(chan string, 100)
	dead := func(context.Context, space.Configuration) (trial.Outcome, error) {
		return trial.Outcome{}, errors.New("the GPU has fallen off the bus")
	}
	d := join(t, map[string]*fakeGPU{"a": {evaluate: dead}, "b": {}, "c": {}}, func(o *remote.JoinOptions) { o.Say = func(text string) { said <- text } })
	mustBeWhole(t, search(t, d, tuner.Options{Strategy: "random"}))
	time.Sleep(100 * time.Millisecond) // the controls of the others are timed meanwhile
	if got := fmt.Sprint(d.Workers()); got != "[b c]" {
		t.Errorf("the workers are %s", got)
	}
	if text := <-said; text != "worker a has ended: the GPU has fallen off the bus" {
		t.Errorf("said %q", text)
	}
	last := join(t, map[string]*fakeGPU{"a": {evaluate: dead}}, func(o *remote.JoinOptions) { o.Patience = 200 * time.Millisecond })
	_, err := tuner.Search(t.Context(), toyProblem(t), last, tuner.Options{})
	if !errors.Is(err, device.ErrGone) || !strings.Contains(err.Error(), "fallen off the bus") {
		t.Errorf("when the last has ended: %v", err)
	}
}

// A configuration that ends every device that takes it has crashed, and the search goes on.
func TestJoinedDeliveries(t *testing.T) {
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

// A device whose control is off gets no jobs, and comes back; one unlike the first is left
// out; one whose control cannot be timed at all is an error.
func TestJoinedFitness(t *testing.T) {
	control := &dial{now: took(0.1)}
	said := make(chan string, 100)
	d := join(t, map[string]*fakeGPU{"a": {control: control.get}, "b": {}, "c": {name: "Other 200"}}, func(o *remote.JoinOptions) {
		o.Say = func(text string) { said <- text }
	})
	p := &place{t: t}
	control.set(took(0.2))
	p.await("the device to be set aside", func() bool { return fmt.Sprint(d.Workers()) == "[b]" })
	control.set(took(0.1))
	p.await("the device to be back", func() bool { return fmt.Sprint(d.Workers()) == "[a b]" })
	for _, want := range []string{"worker c is left out: it is Other 200, and not Fake 100", "worker a is set aside: its control takes 0.2 ms, and took 0.1 ms at its start", "worker a takes jobs again"} {
		if text := <-said; text != want {
			t.Errorf("said %q, want %q", text, want)
		}
	}
	broken := &fakeGPU{open: func(*operator.Problem) error { return device.ErrMemory }}
	if _, err := remote.Join(t.Context(), []remote.Member{{Name: "a", Device: broken}}, remote.JoinOptions{}); !errors.Is(err, device.ErrMemory) || !strings.Contains(err.Error(), "worker a: the control") {
		t.Errorf("got %v", err)
	}
}

// Other inputs come to a device at once, and to another when it gets its next job.
func TestJoinedInputs(t *testing.T) {
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
