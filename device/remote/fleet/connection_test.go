package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/test/endurance"
	"autotune/internal/test/must"
	"autotune/internal/test/natstest"
	"autotune/space"
	"autotune/tuner"
)

// evaluation is the duration of one evaluation in the tests of lost connections.
const evaluation = 10 * time.Millisecond

func slowBowl(ctx context.Context, c space.Configuration) (trial.Outcome, error) {
	select {
	case <-time.After(evaluation):
		return bowl(c), nil
	case <-ctx.Done():
		return trial.Outcome{}, ctx.Err()
	}
}

// newQuickPlace starts a server with short timeouts, which can be stopped and started again at the same address.
func newQuickPlace(t *testing.T) (p *place, stop func()) {
	if testing.Short() {
		t.Skip("waits for what does not come")
	}
	url, stop := natstest.Start(t, "")
	return &place{options: quick, t: t, url: url, said: make(chan string, 1000)}, stop
}

// searchUntil searches the toy problem at random, and calls the function happens after the given number of trials.
func searchUntil(t *testing.T, d device.Device, trials int, happens func()) {
	t.Helper()
	evaluated := 0
	mustBeWhole(t, search(t, d, tuner.Options{Strategy: "random", Evaluated: func(trial.Trial) {
		if evaluated++; evaluated == trials {
			happens()
		}
	}}))
}

// During the search of this test, workers are lost at random and others join. Although workers are lost, every
// configuration has exactly one trial, and all evidence for the winner comes from one device.
func TestLostWorkers(t *testing.T) {
	unlucky := 0
	for round := range endurance.Times(1, 20) {
		p, _ := newQuickPlace(t)
		workers := 0
		more := func() {
			p.worker(fmt.Sprint("w", workers), &fakeGPU{evaluate: slowBowl})
			workers++
		}
		for range 4 {
			more()
		}
		d := p.pool(1)
		rng := rand.New(rand.NewPCG(7, uint64(round)))
		ended := make(chan struct{})
		var loser sync.WaitGroup
		lost := 0
		loser.Go(func() {
			for at := range 4 { // each of the first four
				select {
				case <-time.After(time.Duration(100+rng.IntN(200)) * time.Millisecond):
				case <-ended:
					return
				}
				p.lose(fmt.Sprint("w", at))
				lost++
				more()
			}
		})
		r := search(t, d, tuner.Options{Strategy: "random", Seed: uint64(round + 1)})
		close(ended)
		loser.Wait()
		// A job is not given to a third worker if two workers were lost while they had the job.
		if slices.ContainsFunc(r.Trials, func(one trial.Trial) bool { return strings.Contains(one.Message, "handed out 2 times") }) {
			if unlucky++; unlucky > 1 {
				t.Error("a job was with two lost workers, again")
			}
			continue
		}
		mustBeWhole(t, r)
		if lost == 0 {
			t.Error("the search was done before a worker was lost")
		}
	}
}

// The server ends and is started again at the same address. The worker reports the loss of the server and its return.
func TestLostServer(t *testing.T) {
	for range endurance.Times(1, 10) {
		p, stop := newQuickPlace(t)
		p.options.Say = func(text string) { p.said <- text }
		for _, name := range []string{"a", "b"} {
			p.worker(name, &fakeGPU{evaluate: slowBowl})
		}
		searchUntil(t, p.pool(2), 40, func() {
			stop()
			natstest.Start(t, p.url)
		})
		words := ""
		for len(p.said) > 0 {
			words += <-p.said + "\n"
		}
		for _, want := range []string{"it is tried again until it is there again", "is there again after "} {
			if !strings.Contains(words, want) {
				t.Errorf("said %q, want %q", words, want)
			}
		}
	}
}

// gate is a proxy in front of a server, which a test can close to hold back all bytes. While a gate is closed, the
// proxy silently holds back all bytes.
type gate struct {
	url    string
	closed atomic.Bool
}

func newGate(t *testing.T, to string) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.OK(t, err)
	t.Cleanup(func() { l.Close() })
	g := &gate{url: "nats://" + l.Addr().String()}
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", strings.TrimPrefix(to, "nats://"))
			if err != nil {
				in.Close()
				continue
			}
			go g.pass(in, out)
			go g.pass(out, in)
		}
	}()
	return g
}

// pass copies bytes between two connections; while the gate (a proxy) is closed, the bytes wait.
func (g *gate) pass(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		for g.closed.Load() {
			time.Sleep(5 * time.Millisecond)
		}
		if err != nil {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (g *gate) closeFor() {
	g.closed.Store(true)
	time.AfterFunc(time.Duration(endurance.Times(2, 20))*time.Second, func() { g.closed.Store(false) })
}

// A worker that sends nothing for a while loses its jobs to another worker, and its late answers are dropped. A search
// whose own connection is lost for a while goes on.
func TestPartition(t *testing.T) {
	for _, cut := range []string{"worker", "search"} {
		t.Run(cut, func(t *testing.T) {
			t.Parallel() // they wait
			p, _ := newQuickPlace(t)
			straight, g := p.url, newGate(t, p.url)
			p.worker("near", &fakeGPU{evaluate: slowBowl})
			if p.url = g.url; cut == "search" {
				p.url = straight
			}
			p.worker("far", &fakeGPU{evaluate: slowBowl})
			if p.url = straight; cut == "search" {
				p.url = g.url
			}
			searchUntil(t, p.pool(2), 30, g.closeFor)
		})
	}
}

// The loss of a server for good, announced or not, is reported within 3 s. The search ends with the trials made so far,
// once the time limit of reconnecting or of the search is over.
func TestServerGoneForGood(t *testing.T) {
	for name, test := range map[string]struct {
		limit, time, most time.Duration
		silent            bool
	}{
		"limit":        {limit: time.Second, most: 6 * time.Second},
		"limit silent": {limit: time.Second, silent: true, most: 9 * time.Second},
		"time":         {limit: time.Minute, time: 3 * time.Second, most: 5 * time.Second},
		"time silent":  {limit: time.Minute, time: 6 * time.Second, silent: true, most: 8 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they wait
			p, stop := newQuickPlace(t)
			p.worker("a", &fakeGPU{evaluate: slowBowl})
			g, said := newGate(t, p.url), make(chan string, 100)
			defer g.closed.Store(false)
			var lost time.Time
			p.url, p.options.Limit = g.url, test.limit
			p.options.Say = func(text string) {
				if took := time.Since(lost); took > 4*time.Second { // 3, and some for a busy machine
					t.Errorf("it was said after %s", took)
				}
				said <- text
			}
			evaluated := 0
			o := tuner.Options{Strategy: "random", Time: test.time, Evaluated: func(trial.Trial) {
				if evaluated++; evaluated == 20 {
					lost = time.Now()
					if g.closed.Store(true); !test.silent {
						stop()
						g.closed.Store(false)
					}
				}
			}}
			r, err := tuner.Search(t.Context(), toyProblem(t), p.pool(1), o)
			if took := time.Since(lost); took > test.most {
				t.Errorf("the search went on for %s", took)
			}
			if !errors.Is(err, device.ErrGone) || r == nil || r.Winner == nil || r.Stop != tuner.Interrupted ||
				!strings.Contains(strings.Join(r.Warnings, " "), "the search ended early: ") {
				t.Errorf("got %v and %+v", err, r)
			}
			want := []string{"the connection to " + g.url + " is lost (", "it is tried again for " + test.limit.String() + " at most"}
			if text := <-said; !strings.Contains(text, want[0]) || !strings.Contains(text, want[1]) {
				t.Errorf("said %q", text)
			}
		})
	}
}
