package poolworker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"autotune/tuner/device/pool/wire"
)

// rateOver is the time that a worker's rate is of.
const rateOver = 30 * time.Second

// status is what a worker tells of itself.
type status struct {
	mu      sync.Mutex
	aside   string // why it takes no jobs; "": it does
	done    []time.Time
	total   int
	timed   wire.Control
	started time.Time
}

// ready tells whether the worker takes jobs.
func (s *status) ready() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.aside == ""
}

func (s *status) controlMS() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.timed.LastMS
}

// count counts a job.
func (s *status) count() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.total++
	s.done = append(slices.DeleteFunc(s.done, func(at time.Time) bool { return now.Sub(at) > rateOver }), now)
}

// beat is the sign of life of the moment.
func (w *worker) beat() wire.Beat {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.done = slices.DeleteFunc(w.done, func(at time.Time) bool { return now.Sub(at) > rateOver })
	b := wire.Beat{
		Worker: w.Name, Group: w.group, Device: w.device.Info(), Arch: w.device.Arch(), Compilers: w.Compilers,
		State: wire.Ready, Done: w.total, Control: w.timed, Started: w.started,
		Rate: float64(len(w.done)) / min(rateOver, max(time.Second, now.Sub(w.started))).Seconds(),
	}
	if w.aside != "" {
		b.State, b.Why = wire.Aside, w.aside
	}
	return b
}

// enter times the control and makes the worker known.
func (w *worker) enter(ctx context.Context) error {
	if err := w.openControl(ctx); err != nil {
		return fmt.Errorf("the control: %w", err)
	}
	data, err := wire.Encode(w.beat())
	if err != nil {
		return err
	}
	if _, err := w.Workers.Create(ctx, w.Name, data); errors.Is(err, jetstream.ErrKeyExists) {
		return fmt.Errorf("there is a worker %s already, or was a moment ago; name this one otherwise with --name", w.Name)
	} else if err != nil {
		return fmt.Errorf("make the worker known: %w", err)
	}
	return nil
}

// beats gives signs of life.
func (w *worker) beats(ctx context.Context) {
	for pause(ctx, w.Beat) {
		w.show(ctx, w.beat())
	}
}

func (w *worker) show(ctx context.Context, b wire.Beat) {
	data, err := wire.Encode(b)
	if err != nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, w.Beat)
	defer cancel()
	_, _ = w.Workers.Put(limited, w.Name, data) // one that is lost is followed by another
}

// leave says that the worker has ended, and why.
func (w *worker) leave(why error) {
	b := w.beat()
	b.State = wire.Left
	if why != nil {
		b.Why = why.Error()
	}
	w.show(context.Background(), b)
}
