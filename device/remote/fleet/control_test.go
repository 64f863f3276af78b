package fleet_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"autotune/device/remote/fleet"
	"autotune/device/trial"
	"autotune/space"
	"autotune/tuner"
)

// often has the control timed more often than usual.
func often(o *fleet.WorkerOptions) { o.ControlEvery = 30 * time.Millisecond }

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

// A worker is set aside with a message when its control is not what it was, or its GPU is
// throttled or shared. It comes back when that is over.
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
		"crashed":   {trial.Outcome{Status: trial.Crashed, Message: "no answer"}, "its control ended as crashed: no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			d := &dial{now: took(0.1)}
			p.worker("a", &fakeGPU{control: d.get}, often)
			p.worker("b", &fakeGPU{}, often)
			all := p.pool(2)
			d.set(test.off)
			words := ""
			said := func(wanted ...string) {
				t.Helper()
				p.await("words, but "+words, func() bool {
					for len(p.said) > 0 {
						words += <-p.said + "\n"
					}
					return !slices.ContainsFunc(wanted, func(want string) bool { return !strings.Contains(words, want) })
				})
			}
			said("a: set aside: "+test.want, "pool: worker a is set aside: "+test.want)
			p.await("the worker to be set aside", func() bool { return len(all.Workers()) == 1 })
			d.set(took(0.1))
			said("a: takes jobs again", "pool: worker a takes jobs again")
			p.await("the worker to be back", func() bool { return len(all.Workers()) == 2 })
		})
	}
}

// Once is no reason: a control that is off a single time changes nothing. Noise is none
// either: what overlaps with the start is not off.
func TestControlIsPatient(t *testing.T) {
	p := newPlace(t)
	times := 0
	p.worker("a", &fakeGPU{control: func() trial.Outcome {
		if times++; times%3 == 0 {
			return took(0.15)
		}
		return took(0.1)
	}}, often)
	all := p.pool(1)
	for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if len(all.Workers()) != 1 {
			t.Fatal("the worker was set aside")
		}
	}
}

// A worker that is slower than the others of its model is set aside.
func TestControlAmongOthers(t *testing.T) {
	p := newPlace(t)
	for _, name := range []string{"a", "b"} {
		p.worker(name, &fakeGPU{}, often)
	}
	all := p.pool(2)
	p.worker("slow", &fakeGPU{control: func() trial.Outcome { return took(0.12) }}, often)
	p.await("words about the slow one", func() bool {
		select {
		case text := <-p.said:
			return strings.HasPrefix(text, "slow: set aside: its control takes 0.12 ms, that of other workers like it 0.1 ms")
		default:
			return false
		}
	})
	p.await("the other two", func() bool { return strings.Join(all.Workers(), " ") == "a b" })
}

// A worker that is set aside gets no jobs, and a search goes on without it.
func TestAsideGetsNoJobs(t *testing.T) {
	p := newPlace(t)
	d := &dial{now: took(0.1)}
	bad := &fakeGPU{control: d.get, evaluate: slowBowl}
	p.worker("bad", bad, often)
	p.worker("good", &fakeGPU{evaluate: slowBowl}, often)
	all := p.pool(2)
	evaluated, before := 0, 0
	r := search(t, all, tuner.Options{Strategy: "random", Evaluated: func(trial.Trial) {
		if evaluated++; evaluated == 20 {
			d.set(took(0.2))
			p.await("the worker to be set aside", func() bool { return len(all.Workers()) == 1 })
			before = len(bad.runs())
		}
	}})
	mustBeWhole(t, r)
	if after := len(bad.runs()); after > before+1 {
		t.Errorf("the worker that was set aside ran %d configurations, and then %d more", before, after-before)
	}
}

// When all are set aside, the search ends and says why.
func TestAllAside(t *testing.T) {
	p := newPlace(t)
	d := &dial{now: took(0.1)}
	p.worker("a", &fakeGPU{control: d.get, evaluate: func(_ context.Context, c space.Configuration) (trial.Outcome, error) {
		d.set(took(0.2))
		time.Sleep(evaluation)
		return bowl(c), nil
	}}, often)
	_, err := tuner.Search(t.Context(), toyProblem(t), p.pool(1, func(o *fleet.Options) { o.Patience = 300 * time.Millisecond }), tuner.Options{})
	if err == nil || !strings.Contains(err.Error(), "no worker has been there for 300ms; worker a: its control takes 0.2 ms") {
		t.Errorf("got %v", err)
	}
}

// A worker refuses a problem that it has no room for. Of problems that fit one by
// one only, the oldest makes way.
func TestWorkersMemory(t *testing.T) {
	p := newPlace(t)
	gpu := &fakeGPU{}
	p.worker("a", gpu, func(o *fleet.WorkerOptions) { o.Memory = 600 << 20 })
	all := p.pool(1)
	r := search(t, all, tuner.Options{Strategy: "random", Budget: 3})
	if r.Winner == nil {
		t.Error("no winner")
	}
	tight := newPlace(t)
	tight.worker("a", &fakeGPU{}, func(o *fleet.WorkerOptions) { o.Memory = 100 })
	_, err := tuner.Search(t.Context(), toyProblem(t), tight.pool(1), tuner.Options{})
	if err == nil || !strings.Contains(err.Error(), "a worker here may use") {
		t.Errorf("got %v", err)
	}
}

// Two workers cannot have one name, and one that has ended leaves it.
func TestNamesAreTakenOnce(t *testing.T) {
	p := newPlace(t)
	stop, ended := p.worker("a", &fakeGPU{})
	p.pool(1)
	_, second := p.worker("a", &fakeGPU{})
	if err := <-second; err == nil || !strings.Contains(err.Error(), "there is a worker a already") {
		t.Errorf("got %v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("a worker that was ended says %v", err)
	}
	b := p.connect("look")
	p.await("the name to be free", func() bool {
		all, err := b.Look(t.Context())
		return err == nil && len(all) == 0
	})
	_, third := p.worker("a", &fakeGPU{})
	select {
	case err := <-third:
		t.Errorf("the name is not free: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
}
