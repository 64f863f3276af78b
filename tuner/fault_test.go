package tuner_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner"
	"autotune/tuner/store"
)

var errBroken = errors.New("the device broke")

// failing is a device whose call number `at` returns an error, for every method that the device and its compiler have.
type failing struct {
	*fakeDevice
	at int // number of the call, from 1; 0: no call fails

	mu    sync.Mutex
	calls []string // names of called methods, in order
}

func (f *failing) breaks(method string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, method)
	if len(f.calls) == f.at {
		return errBroken
	}
	return nil
}

// count returns the number of calls of a method so far.
func (f *failing) count(method string) (n int) {
	for _, call := range f.calls {
		if call == method {
			n++
		}
	}
	return n
}

func (f *failing) Compiler() compile.Compiler { return f }

func (f *failing) Compile(ctx context.Context, r compile.Request) (*compile.Binary, error) {
	if err := f.breaks("Compile"); err != nil {
		return nil, err
	}
	return f.fakeDevice.Compile(ctx, r)
}

func (f *failing) Open(ctx context.Context, p *operator.Problem, b *compile.Binary, proto device.Protocol) (device.Session, error) {
	if err := f.breaks("Open"); err != nil {
		return nil, err
	}
	s, err := f.fakeDevice.Open(ctx, p, b, proto)
	return &failingSession{s, f}, err
}

type failingSession struct {
	device.Session
	device *failing
}

func (s *failingSession) Evaluate(ctx context.Context, v device.Variant, best float64) (trial.Outcome, error) {
	if err := s.device.breaks("Evaluate"); err != nil {
		return trial.Outcome{}, err
	}
	return s.Session.Evaluate(ctx, v, best)
}

func (s *failingSession) Check(ctx context.Context, v device.Variant, c device.Check) (trial.Outcome, int, error) {
	if err := s.device.breaks("Check"); err != nil {
		return trial.Outcome{}, 0, err
	}
	return s.Session.Check(ctx, v, c)
}

func (s *failingSession) Refill(ctx context.Context, in device.Inputs) error {
	if err := s.device.breaks("Refill"); err != nil {
		return err
	}
	return s.Session.Refill(ctx, in)
}

func (s *failingSession) Close() error {
	return errors.Join(s.device.breaks("Close"), s.Session.Close())
}

// If any single call of the device or the compiler fails, the search ends soon with that error. The store keeps every
// finished trial, and the next search of the problem continues from the stored trials.
func TestEveryCallFailsOnce(t *testing.T) {
	whole := &failing{fakeDevice: &fakeDevice{Evaluate: bowl}}
	search := func(d *failing, s *store.Store) (*tuner.Result, error) {
		p := toyProblem(t)
		p.Operator.Inputs = []string{"uniform01", "normal"}
		return tuner.Search(t.Context(), p, d, tuner.Options{Store: s, Strategy: "random"})
	}
	if _, err := search(whole, nil); err != nil {
		t.Fatal(err)
	}
	// The finals evaluate variants again, and the gates check a variant with other inputs and at neighbouring shapes.
	for method, least := range map[string]int{"Compile": 15, "Open": 2, "Evaluate": 15, "Check": 2, "Refill": 2, "Close": 2} {
		if n := whole.count(method); n < least {
			t.Errorf("%s is called %d times, want %d at least", method, n, least)
		}
	}
	for at := 1; at <= len(whole.calls); at++ {
		finished := atomic.Int64{}
		d := &failing{fakeDevice: &fakeDevice{Evaluate: func(c space.Configuration) (trial.Outcome, error) {
			finished.Add(1)
			return bowl(c)
		}}}
		d.at = at
		s := openStore(t, filepath.Join(t.TempDir(), "cache.db"))
		begin := time.Now()
		r, err := search(d, s)
		if err != nil && !errors.Is(err, errBroken) || err == nil && r.Winner == nil {
			t.Errorf("call %d fails: %+v, %v", at, r, err)
		}
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("call %d fails: it took %v", at, took)
		}
		again, err := search(&failing{fakeDevice: &fakeDevice{Evaluate: bowl}}, s)
		if err != nil || len(again.Trials) != 14 || again.Winner.String() != "plain a=4 b=3" || int64(again.Resumed) < min(finished.Load(), 14) {
			t.Errorf("after call %d failed, with %d trials finished: %+v, %v", at, finished.Load(), again, err)
		}
	}
}
