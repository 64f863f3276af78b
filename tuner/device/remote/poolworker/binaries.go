package poolworker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
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

// logBytes bounds the compiler's words that are kept with a binary.
const logBytes = 64 << 10

// Headers that say of a binary what is not in it.
const (
	symbolsHeader = "Autotune-Symbols"
	logHeader     = "Autotune-Log"
)

// binary is a kernel compiled: by whichever worker of the group came first.
func (w *worker) binary(ctx context.Context, k operator.Kernel, limit time.Duration) (*compile.Binary, error) {
	name := broker.BinaryName(w.group, k.File, k.Digest())
	if b := w.binaries.get(name); b != nil {
		return b, nil
	}
	b, err := w.fetchBinary(ctx, name)
	if err != nil {
		if b, err = w.device.Compiler().Compile(ctx, compile.Request{Kernel: k, Arch: w.device.Arch(), Timeout: limit}); err != nil {
			return nil, err
		}
		w.storeBinary(ctx, name, b)
	}
	w.binaries.put(name, b)
	return b, nil
}

// fetchBinary gets what another worker compiled.
func (w *worker) fetchBinary(ctx context.Context, name string) (*compile.Binary, error) {
	code, info, err := w.Binaries.ReadBytes(ctx, name, broker.BinaryMost)
	if err != nil {
		return nil, err
	}
	b := &compile.Binary{Code: code, Cached: true}
	if b.Log, err = decodeHeader[string](info.Headers, logHeader); err == nil {
		b.Symbols, err = decodeHeader[map[string]string](info.Headers, symbolsHeader)
	}
	return b, err
}

func decodeHeader[T any](h nats.Header, name string) (value T, err error) {
	text := h.Get(name)
	if text == "" {
		return value, nil
	}
	if len(text) > 2*logBytes {
		return value, errors.New("a header that is too long")
	}
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return value, fmt.Errorf("the header %s: %w", name, err)
	}
	return value, nil
}

// storeBinary keeps a binary for the others. That it could not be costs them compiling.
func (w *worker) storeBinary(ctx context.Context, name string, b *compile.Binary) {
	if len(b.Code) > broker.BinaryMost || !w.binaries.mayStore() {
		return
	}
	limited, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
	headers := nats.Header{}
	for header, value := range map[string]any{symbolsHeader: b.Symbols, logHeader: b.Log[:min(len(b.Log), logBytes)]} {
		if text, err := json.Marshal(value); err == nil {
			headers.Set(header, string(text))
		}
	}
	if err := w.Binaries.KeepBytes(limited, jetstream.ObjectMeta{Name: name, Headers: headers}, b.Code); err != nil && ctx.Err() == nil {
		w.binaries.pause()
		w.Say("binaries are not kept for other workers for a minute, who compile them again: " + err.Error())
	}
}
