package pool

import (
	"context"
	"fmt"
	"io"
	"maps"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"autotune/tuner/device"
	"autotune/tuner/device/remote"
	"autotune/tuner/device/remote/broker"
	"autotune/tuner/operator"
)

// problems are those that a search is at, where workers find them. They are there as
// long as the search says so every now and then.
type problems struct {
	broker *broker.Broker
	search string

	mu      sync.Mutex
	keys    map[string][]byte // what stands under them
	known   map[bound]string  // keys
	bundles map[*operator.Operator]*bundle
}

// bound is a problem as it is opened.
type bound struct {
	problem *operator.Problem
	proto   device.Protocol
}

// bundle is an operator's files, and when they were stored.
type bundle struct {
	operator *operator.Operator
	name     string
	archive  []byte
	data     map[string]remote.Data
	at       time.Time
}

// bundleOf packs an operator's files; the data files stay where they are.
func bundleOf(o *operator.Operator) (*bundle, error) {
	archive, err := o.Bundle()
	if err != nil {
		return nil, err
	}
	b := &bundle{operator: o, name: remote.BundleName(archive), archive: archive, data: map[string]remote.Data{}}
	total := int64(0)
	for name, d := range o.Data {
		digest, err := d.Digest()
		if err != nil {
			return nil, err
		}
		b.data[name] = remote.Data{Object: broker.DataName(digest), Bytes: d.Start + d.Bytes}
		total += d.Start + d.Bytes
	}
	if total > remote.DataBytes {
		return nil, fmt.Errorf("the data files of %s have %s; workers take %s", o.Name, device.GiB(total), device.GiB(remote.DataBytes))
	}
	return b, nil
}

// bundleAge is when a bundle is stored anew, before the server forgets it.
const bundleAge = 70 * time.Minute

// key makes a problem known and says under which key.
func (s *problems) key(ctx context.Context, p *operator.Problem, proto device.Protocol) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key, ok := s.known[bound{p, proto}]; ok {
		return key, nil
	}
	b := s.bundles[p.Operator]
	if b == nil {
		var err error
		if b, err = bundleOf(p.Operator); err != nil {
			return "", err
		}
		if err := s.store(ctx, b); err != nil {
			return "", fmt.Errorf("store the operator %s: %w", p.Operator.Name, err)
		}
		s.bundles[p.Operator] = b
	}
	spec := remote.ProblemOf(p, proto)
	spec.Bundle, spec.Data = b.name, b.data
	data, err := remote.Encode(spec)
	if err != nil {
		return "", err
	}
	key := fmt.Sprintf("%s.%d", s.search, len(s.keys)+1)
	err = s.broker.Patiently(ctx, publishWait, func(ctx context.Context) error {
		_, err := s.broker.Searches.Put(ctx, key, data)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("make the problem known: %w", err)
	}
	s.keys[key], s.known[bound{p, proto}] = data, key
	return key, nil
}

// store stores a bundle, unless that was done a short while ago.
func (s *problems) store(ctx context.Context, b *bundle) error {
	if time.Since(b.at) < bundleAge {
		return nil
	}
	for name, d := range b.data {
		open := func() (io.ReadCloser, error) { return b.operator.Data[name].Open() }
		if err := s.broker.Objects.Keep(ctx, jetstream.ObjectMeta{Name: d.Object}, d.Bytes, open); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := s.broker.Objects.KeepBytes(ctx, jetstream.ObjectMeta{Name: b.name}, b.archive); err != nil {
		return err
	}
	b.at = time.Now()
	return nil
}

// refresh says every now and then that the search goes on, until ctx ends.
func (s *problems) refresh(ctx context.Context) {
	for broker.Pause(ctx, s.broker.Beat) {
		s.mu.Lock()
		keys := maps.Clone(s.keys)
		for _, b := range s.bundles {
			_ = s.store(ctx, b) // as the keys
		}
		s.mu.Unlock()
		for key, data := range keys {
			limited, cancel := s.broker.Within(ctx, publishWait)
			_, _ = s.broker.Searches.Put(limited, key, data) // one that is lost is followed by another
			cancel()
		}
	}
}

// withdraw says that the search has ended.
func (s *problems) withdraw(ctx context.Context) {
	for key := range s.keys {
		_ = s.broker.Searches.Purge(ctx, key)
	}
}
