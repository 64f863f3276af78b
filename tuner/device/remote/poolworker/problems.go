package poolworker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"autotune/tuner/device/remote"
	"autotune/tuner/operator"
)

// mostKnown is how many operators and problems a worker remembers.
const mostKnown = 64

// known are operators and problems of searches, by what they were read from.
type known struct {
	mu        sync.Mutex
	operators map[string]*operator.Operator
	problems  map[string]*problem
	recent    map[string]recent // by key
}

// recent is what a key stood for a moment ago.
type recent struct {
	problem *problem
	at      time.Time
}

// problem is one of a search, bound as the search has it.
type problem struct {
	*operator.Problem
	spec remote.Problem
}

// problem finds out what a key stands for. One that is no longer there is of a search
// that is gone.
func (w *worker) problem(ctx context.Context, key string) (*problem, error) {
	w.known.mu.Lock()
	last := w.known.recent[key]
	w.known.mu.Unlock()
	if time.Since(last.at) < w.Beat {
		return last.problem, nil
	}
	p, err := w.lookUp(ctx, key)
	if err == nil {
		w.known.mu.Lock()
		defer w.known.mu.Unlock()
		w.known.recent = remember(w.known.recent, key, recent{p, time.Now()})
	}
	return p, err
}

func (w *worker) lookUp(ctx context.Context, key string) (*problem, error) {
	var entry jetstream.KeyValueEntry
	err := w.Patiently(ctx, fetchWait, func(ctx context.Context) (err error) {
		entry, err = w.Searches.Get(ctx, key)
		return err
	})
	if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrKeyDeleted) {
		return nil, errSearchGone
	}
	if err != nil {
		return nil, fmt.Errorf("ask for the problem %s: %w", key, err)
	}
	w.known.mu.Lock()
	defer w.known.mu.Unlock()
	text := string(entry.Value())
	if p := w.known.problems[text]; p != nil {
		return p, nil
	}
	spec, err := remote.Decode[remote.Problem](entry.Value())
	if err != nil {
		return nil, err
	}
	o, err := w.operator(ctx, spec)
	if err != nil {
		return nil, err
	}
	bound, err := spec.Bind(o)
	if err != nil {
		return nil, err
	}
	p := &problem{bound, spec}
	w.known.problems = remember(w.known.problems, text, p)
	return p, nil
}

// operator reads an operator's bundle, and the heads of its data files.
func (w *worker) operator(ctx context.Context, spec remote.Problem) (*operator.Operator, error) {
	key := fmt.Sprint(spec.Bundle, spec.Data, spec.Named)
	if o := w.known.operators[key]; o != nil {
		return o, nil
	}
	archive, _, err := w.Objects.ReadBytes(ctx, spec.Bundle, operator.BundleBytes)
	if err != nil {
		return nil, err
	}
	if remote.BundleName(archive) != spec.Bundle {
		return nil, fmt.Errorf("the bundle %s holds something else", spec.Bundle)
	}
	data, release, err := w.Spool.hold(ctx, w.Broker, spec.Data)
	if err != nil {
		return nil, err
	}
	defer release()
	o, err := operator.LoadBundle(archive, data)
	if err != nil {
		return nil, err
	}
	o = o.AsNamed(spec.Named)
	w.known.operators = remember(w.known.operators, key, o)
	return o, nil
}

// remember adds to what is known, of which there is never too much.
func remember[V any](known map[string]V, name string, v V) map[string]V {
	if known == nil || len(known) >= mostKnown {
		known = map[string]V{}
	}
	known[name] = v
	return known
}

// searchIsGone tells whether nobody waits for a problem's jobs any more.
func (w *worker) searchIsGone(ctx context.Context, key string) bool {
	_, err := w.Searches.Get(ctx, key)
	return errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrKeyDeleted)
}
