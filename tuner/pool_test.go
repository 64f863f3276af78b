package tuner_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/internal/test/toy"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner"
)

// fakePool is a pool of fake devices with the given names.
type fakePool struct {
	*fakeDevice
	takes time.Duration // time of an evaluation
	// The function says, if not nil, replaces the outcome that the device returns for a worker's evaluation.
	says func(worker string, c space.Configuration) (trial.Outcome, error)

	mu     sync.Mutex
	names  []string
	busy   map[string]bool
	most   int // largest number of workers asked at the same time
	asked  int
	log    []string // worker and configuration of each evaluation in the finals
	opened []string
}

func newFakePool(names ...string) *fakePool {
	return &fakePool{fakeDevice: &fakeDevice{Evaluate: bowl}, names: names, busy: map[string]bool{}}
}

func (p *fakePool) Workers() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.names)
}

// The method come adds a worker to the fake pool, and the method leave removes one.
func (p *fakePool) come(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.names = append(p.names, name)
}

func (p *fakePool) leave(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.names = slices.DeleteFunc(p.names, func(n string) bool { return n == name })
}

func (p *fakePool) Worker(name string) device.Device { return &fakeMember{p, name} }

func (p *fakePool) Open(ctx context.Context, problem *operator.Problem, b *compile.Binary, proto device.Protocol) (device.Session, error) {
	s, err := p.fakeDevice.Open(ctx, problem, b, proto)
	if err != nil {
		return nil, err
	}
	return &poolSession{s, p, ""}, nil
}

// fakeMember is one worker of the pool.
type fakeMember struct {
	*fakePool
	name string
}

func (m *fakeMember) Open(ctx context.Context, problem *operator.Problem, b *compile.Binary, proto device.Protocol) (device.Session, error) {
	m.mu.Lock()
	m.opened = append(m.opened, m.name)
	m.mu.Unlock()
	s, err := m.fakeDevice.Open(ctx, problem, b, proto)
	if err != nil {
		return nil, err
	}
	return &poolSession{s, m.fakePool, m.name}, nil
}

type poolSession struct {
	device.Session
	pool *fakePool
	only string
}

func (s *poolSession) Evaluate(ctx context.Context, v device.Variant, best float64) (trial.Outcome, error) {
	p := s.pool
	p.mu.Lock()
	p.asked++
	p.most = max(p.most, p.asked)
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.asked--
		p.mu.Unlock()
	}()
	worker, err := p.take(ctx, s.only)
	if err != nil {
		return trial.Outcome{}, err
	}
	time.Sleep(p.takes)
	o, err := s.Session.Evaluate(ctx, v, best)
	if p.says != nil {
		o, err = p.says(worker, v.Configuration)
	}
	o.Worker = worker
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy[worker] = false
	if s.only != "" {
		p.log = append(p.log, worker+" "+v.Configuration.String())
	}
	return o, err
}

// take waits for a free worker.
func (p *fakePool) take(ctx context.Context, only string) (string, error) {
	for ctx.Err() == nil {
		p.mu.Lock()
		if only != "" && !slices.Contains(p.names, only) {
			p.mu.Unlock()
			return "", fmt.Errorf("worker %s: %w", only, device.ErrGone)
		}
		for _, name := range p.names {
			if !p.busy[name] && (only == "" || name == only) {
				p.busy[name] = true
				p.mu.Unlock()
				return name, nil
			}
		}
		p.mu.Unlock()
		time.Sleep(100 * time.Microsecond)
	}
	return "", ctx.Err()
}

func searchPool(t *testing.T, p *fakePool, o tuner.Options) *tuner.Result {
	t.Helper()
	return search(t, toyProblem(t), p, o)
}

// With any number of workers, every configuration has one trial, and the winner and the tie set are the same as with
// one device.
func TestPoolFindsWhatOneDeviceDoes(t *testing.T) {
	one := search(t, toyProblem(t), &fakeDevice{Evaluate: bowl}, tuner.Options{})
	for _, names := range [][]string{{"a"}, {"a", "b"}, {"a", "b", "c", "d", "e"}} {
		p := newFakePool(names...)
		p.takes = time.Millisecond
		r := searchPool(t, p, tuner.Options{})
		if r.Winner.Configuration.Key() != one.Winner.Configuration.Key() || len(r.Ties) != len(one.Ties) || r.Stop != one.Stop {
			t.Errorf("%d workers: %s and %d ties (%s), one device: %s and %d (%s)", len(names), r.Winner.Configuration, len(r.Ties), r.Stop, one.Winner.Configuration, len(one.Ties), one.Stop)
		}
		seen := map[string]bool{}
		for _, trial := range r.Trials {
			if key := trial.Configuration.Key(); seen[key] {
				t.Errorf("%d workers: %s was evaluated twice", len(names), key)
			} else {
				seen[key] = true
			}
			if !slices.Contains(names, trial.Worker) {
				t.Errorf("the worker of %s is %q", trial.Configuration, trial.Worker)
			}
		}
		if len(seen) != 14 {
			t.Errorf("%d workers evaluated %d configurations", len(names), len(seen))
		}
		if p.most > 2*len(names) {
			t.Errorf("%d workers were asked for %d at once", len(names), p.most)
		}
		if confirmed := r.Confirmation != nil; confirmed != (len(names) > 1) {
			t.Errorf("%d workers: confirmed %v", len(names), r.Confirmation)
		}
	}
}

// All workers get trials, and a search with several workers takes less time.
func TestPoolUsesAllWorkers(t *testing.T) {
	problem := toy.Problem(t, wideToy(12), 64)
	p := newFakePool("a", "b", "c", "d")
	p.takes = 2 * time.Millisecond
	r := search(t, problem, p, tuner.Options{Strategy: "random"})
	shares := map[string]int{}
	for _, trial := range r.Trials {
		shares[trial.Worker]++
	}
	for _, name := range p.names {
		if shares[name] < 144/8 {
			t.Errorf("of 144 trials the workers have %v", shares)
		}
	}
}

// The finals and the gates run on one worker, and another worker confirms the winner.
func TestPoolSettlesInOnePlace(t *testing.T) {
	p := newFakePool("a", "b", "c")
	r := searchPool(t, p, tuner.Options{})
	places := slices.Compact(slices.Collect(func(yield func(string) bool) {
		for _, line := range p.log {
			if !yield(line[:1]) {
				return
			}
		}
	}))
	if len(places) != 2 || r.Confirmation == nil || r.Confirmation.Worker != places[1] || r.Winner.Worker != places[0] {
		t.Errorf("the finals were on %v, confirmed by %+v, the winner's worker is %q", places, r.Confirmation, r.Winner.Worker)
	}
}

// A winner that is wrong on a second worker does not win.
func TestPoolWinnerMustHoldOnASecond(t *testing.T) {
	p := newFakePool("a", "b")
	best := searchPool(t, newFakePool("a"), tuner.Options{}).Winner.Configuration.Key()
	wrong := false
	p.says = func(worker string, c space.Configuration) (trial.Outcome, error) {
		if len(p.opened) > 1 && worker == "b" && c.Key() == best {
			wrong = true
			return trial.Outcome{Status: trial.WrongResult, Message: "y differs"}, nil
		}
		return bowl(c)
	}
	r := searchPool(t, p, tuner.Options{})
	if !wrong || r.Winner.Configuration.Key() == best {
		t.Errorf("asked: %v; the winner is %s", wrong, r.Winner.Configuration)
	}
	if at := slices.IndexFunc(r.Trials, func(t trial.Trial) bool { return t.Configuration.Key() == best }); r.Trials[at].Status != trial.WrongResult {
		t.Errorf("its trial is %+v", r.Trials[at])
	}
}

// If a worker goes away during the finals, no trial is lost.
func TestPoolWorkerGoesInTheFinals(t *testing.T) {
	p := newFakePool("a", "b")
	var once sync.Once
	p.says = func(worker string, c space.Configuration) (trial.Outcome, error) {
		if len(p.opened) > 0 && worker == "a" {
			once.Do(func() { p.leave("a") })
			return trial.Outcome{}, fmt.Errorf("worker a: %w", device.ErrGone)
		}
		return bowl(c)
	}
	r := searchPool(t, p, tuner.Options{})
	if r.Winner.Worker != "b" || r.Winner.FinalRounds == 0 || r.Gates == nil {
		t.Errorf("the winner is of worker %q after %d rounds, gates %v", r.Winner.Worker, r.Winner.FinalRounds, r.Gates)
	}
}

// Workers that join during a search get trials, too.
func TestPoolGrows(t *testing.T) {
	problem := toy.Problem(t, wideToy(12), 64)
	p := newFakePool("a")
	p.takes = 2 * time.Millisecond
	evaluated := 0
	r, err := tuner.Search(t.Context(), problem, p, tuner.Options{Strategy: "random", Evaluated: func(trial.Trial) {
		if evaluated++; evaluated == 20 {
			p.come("b")
		}
	}})
	must.OK(t, err)
	late := 0
	for _, trial := range r.Trials[20:] {
		if trial.Worker == "b" {
			late++
		}
	}
	if late < 40 {
		t.Errorf("the worker that came after 20 of 144 trials has %d", late)
	}
}

// If no worker is left, the search ends with the error device.ErrGone.
func TestPoolWithoutWorkers(t *testing.T) {
	p := newFakePool("a")
	p.says = func(string, space.Configuration) (trial.Outcome, error) {
		return trial.Outcome{}, fmt.Errorf("no worker is left: %w", device.ErrGone)
	}
	if _, err := tuner.Search(t.Context(), toyProblem(t), p, tuner.Options{}); !errors.Is(err, device.ErrGone) {
		t.Errorf("got %v", err)
	}
}

// If all workers go away after some trials, the result holds these trials and says why the search ended. If no worker
// is left when the search is over, the finals wait for a worker to come back.
func TestPoolGoes(t *testing.T) {
	p := newFakePool("a")
	p.takes = time.Millisecond
	var done atomic.Int64 // the pool reads it concurrently
	goes := tuner.Options{Evaluated: func(trial.Trial) { done.Add(1) }}
	p.says = func(_ string, c space.Configuration) (trial.Outcome, error) {
		if done.Load() >= 5 {
			return trial.Outcome{}, fmt.Errorf("no worker is left: %w", device.ErrGone)
		}
		return bowl(c)
	}
	r, err := tuner.Search(t.Context(), toyProblem(t), p, goes)
	if !errors.Is(err, device.ErrGone) || r == nil || r.Stop != tuner.Interrupted || r.Winner == nil || len(r.Trials) < 5 || !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "no worker is left") }) {
		t.Errorf("got %v and %+v", err, r)
	}
	back, evaluated := newFakePool("a"), 0
	r = searchPool(t, back, tuner.Options{Evaluated: func(trial.Trial) {
		if evaluated++; evaluated == 14 {
			back.leave("a")
			time.AfterFunc(100*time.Millisecond, func() { back.come("a") })
		}
	}})
	if r.Winner == nil || r.Winner.FinalRounds == 0 {
		t.Errorf("the winner is %+v", r.Winner)
	}
}
