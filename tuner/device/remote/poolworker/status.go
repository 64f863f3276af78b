package poolworker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"autotune/tuner/device/remote"
	"autotune/tuner/device/remote/broker"
)

// rateOver is the time that a worker's rate is of.
const rateOver = 30 * time.Second

// status is what a worker tells of itself.
type status struct {
	mu      sync.Mutex
	done    []time.Time
	total   int
	started time.Time
}

// ready tells whether the worker takes jobs.
func (w *worker) ready() bool {
	aside, _ := w.fitness.State()
	return aside == ""
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
func (w *worker) beat() remote.Beat {
	b := remote.BeatOf(w.Name, w.device)
	b.Compilers, b.Started = w.Compilers, w.started
	var aside string
	if aside, b.Control = w.fitness.State(); aside != "" {
		b.State, b.Why = remote.Aside, aside
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.done = slices.DeleteFunc(w.done, func(at time.Time) bool { return now.Sub(at) > rateOver })
	b.Done, b.Rate = w.total, float64(len(w.done))/min(rateOver, max(time.Second, now.Sub(w.started))).Seconds()
	return b
}

// enter times the control and makes the worker known.
func (w *worker) enter(ctx context.Context) (err error) {
	if w.fitness, err = remote.OpenFitness(ctx, w.device, w.ControlEvery); err != nil {
		return err
	}
	data, err := remote.Encode(w.beat())
	if err != nil {
		return err
	}
	err = w.Patiently(ctx, fetchWait, func(ctx context.Context) error {
		_, err := w.Workers.Create(ctx, w.Name, data)
		return err
	})
	if errors.Is(err, jetstream.ErrKeyExists) && w.isKnown(ctx, data) {
		return nil // the server's first answer was lost
	}
	if errors.Is(err, jetstream.ErrKeyExists) {
		err = fmt.Errorf("there is a worker %s already, or was a moment ago; name this one otherwise with --name", w.Name)
	} else if err != nil {
		err = fmt.Errorf("make the worker known: %w", err)
	}
	if err != nil {
		err = errors.Join(err, w.fitness.Close())
	}
	return err
}

// isKnown tells whether what the server has under the worker's name is of this one.
func (w *worker) isKnown(ctx context.Context, data []byte) bool {
	entry, err := w.Workers.Get(ctx, w.Name)
	return err == nil && bytes.Equal(entry.Value(), data)
}

// beats gives signs of life.
func (w *worker) beats(ctx context.Context) {
	for broker.Pause(ctx, w.Beat) {
		w.show(ctx, w.beat())
	}
}

func (w *worker) show(ctx context.Context, b remote.Beat) {
	data, err := remote.Encode(b)
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
	b.State = remote.Left
	if why != nil {
		b.Why = why.Error()
	}
	w.show(context.Background(), b)
}

// mostOthers is of how many others a worker looks at the controls: each of hundreds would
// ask for those of all otherwise.
const mostOthers = 16

// others are the controls of workers that are like this one and take jobs.
func (w *worker) others(ctx context.Context) (all []float64) {
	limited, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
	keys, err := w.Workers.ListKeys(limited)
	if err != nil {
		return nil
	}
	var names []string
	for key := range keys.Keys() {
		names = append(names, key)
	}
	rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, key := range names {
		if len(all) == mostOthers {
			break
		}
		entry, err := w.Workers.Get(limited, key)
		if err != nil || key == w.Name {
			continue
		}
		if b, err := remote.Decode[remote.Beat](entry.Value()); err == nil && b.Group == w.group && b.State == remote.Ready && b.Control.LastMS > 0 {
			all = append(all, b.Control.LastMS)
		}
	}
	return all
}
