package tuner_test

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

	"autotune/device"
	"autotune/device/trial"
	"autotune/space"
	"autotune/tuner"
	"autotune/tuner/final"
)

// Searches of one problem that share a cache and run side by side evaluate every
// configuration once. Each ends with all trials and the same winner.
func TestSearchesSideBySide(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.db")
	protocol := device.DefaultProtocol()
	protocol.Samples = 1 // no finals, which evaluate again
	var group sync.WaitGroup
	var mu sync.Mutex
	times := map[string]int{}
	for i := range 3 {
		s := openStore(t, path)
		d := &fakeDevice{Evaluate: func(c space.Configuration) (trial.Outcome, error) {
			time.Sleep(5 * time.Millisecond)
			return bowl(c)
		}}
		group.Go(func() {
			r, err := tuner.Search(t.Context(), toyProblem(t), d, tuner.Options{
				Store: s, Protocol: protocol, Gating: final.GateNone, Strategy: "random", Seed: uint64(i),
			})
			if err != nil {
				t.Error(err)
				return
			}
			if len(r.Trials) != 14 || number(r.Winner.Configuration, "a") != 4 || number(r.Winner.Configuration, "b") != 3 {
				t.Errorf("search %d has %d trials and the winner %s", i, len(r.Trials), r.Winner.Configuration)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, c := range d.Evaluated {
				times[c]++
			}
		})
	}
	group.Wait()
	if len(times) != 14 {
		t.Errorf("%d of 14 configurations were evaluated", len(times))
	}
	for c, n := range times {
		if n != 1 {
			t.Errorf("%s was evaluated %d times", c, n)
		}
	}
}

// What a search claimed and left undone, another takes over.
func TestTakesOverWhatOthersLeave(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.db")
	first, claims := openStore(t, path), make(chan bool)
	var left sync.Once
	slow := &fakeDevice{Evaluate: func(c space.Configuration) (trial.Outcome, error) {
		left.Do(func() { close(claims) })
		time.Sleep(200 * time.Millisecond)
		return bowl(c)
	}}
	ended := make(chan error)
	go func() {
		_, err := tuner.Search(t.Context(), toyProblem(t), slow, tuner.Options{Store: first, Time: 300 * time.Millisecond, Gating: final.GateNone})
		ended <- err
	}()
	<-claims
	r, err := tuner.Search(t.Context(), toyProblem(t), &fakeDevice{Evaluate: bowl}, tuner.Options{Store: openStore(t, path)})
	if err != nil || len(r.Trials) != 14 {
		t.Errorf("%+v, %v; want all 14 trials", r, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
