package broker

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Store keeps objects whose names stand for their contents, each for a while.
type Store struct {
	jetstream.ObjectStore
	broker *Broker
	age    time.Duration
}

// How long an object may be on its way: so long, and longer the larger it is.
const (
	objectWait = 10 * time.Second
	slowest    = 4 << 20 // bytes a second
)

func waitFor(bytes int64) time.Duration {
	return objectWait + time.Duration(bytes/slowest)*time.Second
}

// Keep puts an object into the store, unless it is there: one that is put again takes the
// old one's pieces from those who read it. open opens its contents.
func (s Store) Keep(ctx context.Context, o jetstream.ObjectMeta, size int64, open func() (io.ReadCloser, error)) error {
	return s.broker.Patiently(ctx, waitFor(size), func(ctx context.Context) error {
		if info, err := s.GetInfo(ctx, o.Name); err == nil && time.Since(info.ModTime) < s.age/2 {
			return nil
		}
		f, err := open()
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = s.Put(ctx, o, f)
		return err
	})
}

// KeepBytes is Keep of contents in memory.
func (s Store) KeepBytes(ctx context.Context, o jetstream.ObjectMeta, data []byte) error {
	return s.Keep(ctx, o, int64(len(data)), func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil })
}

// Read has take read an object that may have so many bytes, with what is known of it: from
// its start again where the connection was lost on the way.
func (s Store) Read(ctx context.Context, name string, most int64, take func(io.Reader, *jetstream.ObjectInfo) error) error {
	err := s.broker.Patiently(ctx, waitFor(most), func(ctx context.Context) error {
		r, err := s.Get(ctx, name)
		if err != nil {
			return err
		}
		defer r.Close()
		info, err := r.Info()
		if err != nil {
			return err
		}
		if info.Size > uint64(most) {
			return fmt.Errorf("it has %d bytes; %d are the most", info.Size, most)
		}
		return take(io.LimitReader(r, most), info)
	})
	if err != nil {
		return fmt.Errorf("fetch %s: %w", name, err)
	}
	return nil
}

// ReadBytes is Read into memory.
func (s Store) ReadBytes(ctx context.Context, name string, most int64) (data []byte, info *jetstream.ObjectInfo, err error) {
	err = s.Read(ctx, name, most, func(r io.Reader, i *jetstream.ObjectInfo) (err error) {
		info = i
		data, err = io.ReadAll(r)
		return err
	})
	return data, info, err
}
