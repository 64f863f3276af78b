package poolworker

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"autotune/tuner/compile"
	"autotune/tuner/device/remote/broker"
	"autotune/tuner/operator"
)

// keptBytes is how much of binaries a worker keeps at hand.
const keptBytes = 128 << 20

// binaries are those at hand, by the objects' names.
type binaries struct {
	mu    sync.Mutex
	kept  map[string]*compile.Binary
	bytes int
	later time.Time // when to try again to store one: the store is full, or does not answer
}

// storePause is how long a worker keeps its binaries to itself when one could not be stored.
const storePause = time.Minute

// mayStore tells whether to try.
func (k *binaries) mayStore() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return time.Now().After(k.later)
}

func (k *binaries) pause() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.later = time.Now().Add(storePause)
}

func (k *binaries) get(name string) *compile.Binary {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.kept[name]
}

func (k *binaries) put(name string, b *compile.Binary) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.bytes += len(b.Code); k.kept == nil || k.bytes > keptBytes {
		k.kept, k.bytes = map[string]*compile.Binary{}, len(b.Code)
	}
	k.kept[name] = b
}

// binary is a kernel compiled: by whichever worker of the group came first.
func (l *library) binary(ctx context.Context, k operator.Kernel, limit time.Duration) (*compile.Binary, error) {
	name := broker.BinaryName(l.group, k.File, k.Digest())
	if b := l.binaries.get(name); b != nil {
		return b, nil
	}
	b, err := l.fetchBinary(ctx, name)
	if err != nil {
		if b, err = l.device.Compiler().Compile(ctx, compile.Request{Kernel: k, Arch: l.device.Arch(), Timeout: limit}); err != nil {
			return nil, err
		}
		l.storeBinary(ctx, name, b)
	}
	l.binaries.put(name, b)
	return b, nil
}

// fetchBinary gets what another worker compiled. One that fits into a message is one: an
// object costs the server more than all else about a trial.
func (l *library) fetchBinary(ctx context.Context, name string) (*compile.Binary, error) {
	limited, cancel := l.broker.Within(ctx, fetchWait)
	defer cancel()
	entry, err := l.broker.Kernels.Get(limited, name)
	if err != nil {
		return nil, err
	}
	data := entry.Value()
	if len(data) == 0 {
		if data, _, err = l.broker.Binaries.ReadBytes(ctx, name, broker.BinaryMost); err != nil {
			return nil, err
		}
	}
	return decodeBinary(data)
}

// decodeBinary reads what may be anything.
func decodeBinary(data []byte) (*compile.Binary, error) {
	var b compile.Binary
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, fmt.Errorf("a binary that cannot be read: %w", err)
	}
	b.Cached = true
	return &b, nil
}

// storeBinary keeps a binary for the others. That it could not be costs them compiling.
func (l *library) storeBinary(ctx context.Context, name string, b *compile.Binary) {
	data, err := json.Marshal(b)
	if err != nil || len(data) > broker.BinaryMost || !l.binaries.mayStore() {
		return
	}
	limited, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
	if int64(len(data)) > l.broker.Conn.MaxPayload()/2 {
		err = l.broker.Binaries.KeepBytes(limited, jetstream.ObjectMeta{Name: name}, data)
		data = nil // it is there
	}
	if err == nil {
		_, err = l.broker.Kernels.Put(limited, name, data)
	}
	if err != nil && ctx.Err() == nil {
		l.binaries.pause()
		l.say("binaries are not kept for other workers for a minute, who compile them again: " + err.Error())
	}
}
