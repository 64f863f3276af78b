package poolworker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"autotune/tuner/device"
	"autotune/tuner/device/remote"
	"autotune/tuner/device/remote/broker"
	"autotune/tuner/operator"
)

// library is what a worker knows of searches and their problems, and what it has compiled
// for them.
type library struct {
	broker   *broker.Broker
	device   device.Device
	group    string
	spool    *Spool
	say      func(string)
	known    known
	binaries binaries
}

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
func (l *library) problem(ctx context.Context, key string) (*problem, error) {
	l.known.mu.Lock()
	last := l.known.recent[key]
	l.known.mu.Unlock()
	if time.Since(last.at) < l.broker.Beat {
		return last.problem, nil
	}
	p, err := l.lookUp(ctx, key)
	if err == nil {
		l.known.mu.Lock()
		defer l.known.mu.Unlock()
		l.known.recent = remember(l.known.recent, key, recent{p, time.Now()})
	}
	return p, err
}

func (l *library) lookUp(ctx context.Context, key string) (*problem, error) {
	var entry jetstream.KeyValueEntry
	err := l.broker.Patiently(ctx, fetchWait, func(ctx context.Context) (err error) {
		entry, err = l.broker.Searches.Get(ctx, key)
		return err
	})
	if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrKeyDeleted) {
		return nil, errSearchGone
	}
	if err != nil {
		return nil, fmt.Errorf("ask for the problem %s: %w", key, err)
	}
	l.known.mu.Lock()
	defer l.known.mu.Unlock()
	text := string(entry.Value())
	if p := l.known.problems[text]; p != nil {
		return p, nil
	}
	spec, err := remote.Decode[remote.Problem](entry.Value())
	if err != nil {
		return nil, err
	}
	o, err := l.operator(ctx, spec)
	if err != nil {
		return nil, err
	}
	bound, err := spec.Bind(o)
	if err != nil {
		return nil, err
	}
	p := &problem{bound, spec}
	l.known.problems = remember(l.known.problems, text, p)
	return p, nil
}

// operator reads an operator's bundle, and the heads of its data files.
func (l *library) operator(ctx context.Context, spec remote.Problem) (*operator.Operator, error) {
	key := fmt.Sprint(spec.Bundle, spec.Data, spec.Named)
	if o := l.known.operators[key]; o != nil {
		return o, nil
	}
	archive, _, err := l.broker.Objects.ReadBytes(ctx, spec.Bundle, operator.BundleBytes)
	if err != nil {
		return nil, err
	}
	if remote.BundleName(archive) != spec.Bundle {
		return nil, fmt.Errorf("the bundle %s holds something else", spec.Bundle)
	}
	data, release, err := l.spool.hold(ctx, l.broker, spec.Data)
	if err != nil {
		return nil, err
	}
	defer release()
	o, err := operator.LoadBundle(archive, data)
	if err != nil {
		return nil, err
	}
	o = o.AsNamed(spec.Named)
	l.known.operators = remember(l.known.operators, key, o)
	return o, nil
}

// remember adds to what is known, and keeps that from growing too large.
func remember[V any](known map[string]V, name string, v V) map[string]V {
	if known == nil || len(known) >= mostKnown {
		known = map[string]V{}
	}
	known[name] = v
	return known
}

// searchIsGone tells whether nobody waits for a problem's jobs any more.
func (l *library) searchIsGone(ctx context.Context, key string) bool {
	_, err := l.broker.Searches.Get(ctx, key)
	return errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrKeyDeleted)
}
