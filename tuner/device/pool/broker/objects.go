package broker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Store keeps objects whose names stand for what is in them, each for a while.
type Store struct {
	jetstream.ObjectStore
	name   string
	stream jetstream.Stream // in which it is
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

// store finds the one of a name, or makes it.
func (b *Broker) store(ctx context.Context, name string, age time.Duration, most int64) (Store, error) {
	objects, err := b.Stream.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: name, TTL: age, Storage: b.storage, MaxBytes: most})
	if exists(err) {
		objects, err = b.Stream.ObjectStore(ctx, name)
	}
	s := Store{ObjectStore: objects, name: name, broker: b, age: age}
	if err == nil {
		s.stream, err = b.Stream.Stream(ctx, "OBJ_"+name)
	}
	if err != nil {
		return s, fmt.Errorf("prepare the object store %s: %w", name, err)
	}
	return s, nil
}

// Keep puts an object into the store, unless it is there: one that is put again takes the
// old one's pieces from those who read it. open opens what is in it.
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

// KeepBytes is Keep of what is in memory.
func (s Store) KeepBytes(ctx context.Context, o jetstream.ObjectMeta, data []byte) error {
	return s.Keep(ctx, o, int64(len(data)), func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil })
}

// Read has take read an object that may have so many bytes: from its start again where
// the connection was lost on the way.
func (s Store) Read(ctx context.Context, name string, most int64, take func(io.Reader) error) error {
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
		return take(io.LimitReader(r, most))
	})
	if err != nil {
		return fmt.Errorf("fetch %s: %w", name, err)
	}
	return nil
}

// ReadBytes is Read into memory, with what is known of the object.
func (s Store) ReadBytes(ctx context.Context, name string, most int64) (data []byte, info *jetstream.ObjectInfo, err error) {
	err = s.broker.Patiently(ctx, objectWait, func(ctx context.Context) (err error) {
		info, err = s.GetInfo(ctx, name)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("fetch %s: %w", name, err)
	}
	if info.Chunks == 1 && info.Size <= uint64(most) {
		if data, err := s.piece(ctx, info); err == nil {
			return data, info, nil
		}
	}
	err = s.Read(ctx, name, most, func(r io.Reader) (err error) {
		data, err = io.ReadAll(r)
		return err
	})
	return data, info, err
}

// piece is an object that is in one piece. It is asked for as a message: the way for
// larger ones has the server make a consumer for each, which takes it longer than all else
// about a trial.
func (s Store) piece(ctx context.Context, info *jetstream.ObjectInfo) (data []byte, err error) {
	limited, cancel := s.broker.Within(ctx, objectWait)
	defer cancel()
	msg, err := s.stream.GetLastMsgForSubject(limited, "$O."+s.name+".C."+info.NUID)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(msg.Data); info.Digest != "SHA-256="+base64.URLEncoding.EncodeToString(sum[:]) {
		return nil, jetstream.ErrDigestMismatch
	}
	return msg.Data, nil
}
