package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/remote"
	"autotune/operator"
)

// library is what a worker knows of searches and their problems, and what it has compiled
// for them.
type library struct {
	broker   *Broker
	device   device.Device
	spool    *Spool
	binaries binaries
	finding  singleflight.Group // by key

	mu        sync.Mutex
	operators map[string]*operator.Operator // by what they were read from
	problems  map[string]*problem           // by key
}

const mostKnown = 64

// problem is one of a search, bound as the search has it.
type problem struct {
	*operator.Problem
	search string
	spec   remote.Problem
}

func searchOf(key string) string {
	search, _, _ := strings.Cut(key, ".")
	return search
}

// fetcher brings an object, which may have so many bytes.
type fetcher func(ctx context.Context, object string, most int64, to io.Writer) error

// awayWait is how long a search may be away before it is gone: its connection may be made
// anew a moment after the worker's.
const awayWait = time.Second

func (l *library) from(search string) fetcher {
	return func(ctx context.Context, object string, most int64, to io.Writer) error {
		return l.broker.Fetch(ctx, search, awayWait, object, most, to)
	}
}

// problem finds out what a key stands for.
func (l *library) problem(ctx context.Context, key string) (*problem, error) {
	l.mu.Lock()
	p := l.problems[key]
	l.mu.Unlock()
	if p != nil {
		return p, nil
	}
	found, err, _ := l.finding.Do(key, func() (any, error) { return l.find(ctx, key) })
	if err != nil {
		return nil, err
	}
	return found.(*problem), nil
}

func (l *library) find(ctx context.Context, key string) (*problem, error) {
	search := searchOf(key)
	var text bytes.Buffer
	if err := l.from(search)(ctx, key, remote.MessageBytes, &text); err != nil {
		return nil, err
	}
	spec, err := remote.Decode[remote.Problem](text.Bytes())
	if err != nil {
		return nil, err
	}
	o, err := l.operator(ctx, l.from(search), spec)
	if err != nil {
		return nil, err
	}
	bound, err := spec.Bind(o)
	if err != nil {
		return nil, err
	}
	p := &problem{bound, search, spec}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.problems = remember(l.problems, key, p)
	return p, nil
}

// operator reads an operator's bundle, and the heads of its data files.
func (l *library) operator(ctx context.Context, fetch fetcher, spec remote.Problem) (*operator.Operator, error) {
	key := fmt.Sprint(spec.Bundle, spec.Data, spec.Named)
	l.mu.Lock()
	o := l.operators[key]
	l.mu.Unlock()
	if o != nil {
		return o, nil
	}
	var archive bytes.Buffer
	if err := fetch(ctx, spec.Bundle, operator.BundleBytes, &archive); err != nil {
		return nil, err
	}
	if remote.BundleName(archive.Bytes()) != spec.Bundle {
		return nil, fmt.Errorf("the bundle %s holds something else", spec.Bundle)
	}
	data, release, err := l.spool.hold(ctx, fetch, spec.Data)
	if err != nil {
		return nil, err
	}
	defer release()
	if o, err = operator.LoadBundle(archive.Bytes(), data); err != nil {
		return nil, err
	}
	o = o.AsNamed(spec.Named)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.operators = remember(l.operators, key, o)
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

// Bounds on binaries: how much of them a worker keeps at hand, and how large one may be that
// another worker sends.
const (
	keptBytes  = 128 << 20
	mostBinary = 64 << 20
)

type binaries struct {
	mu    sync.Mutex
	kept  map[string]*compile.Binary
	bytes int
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

func (k *binaries) open(name string) (io.ReaderAt, error) {
	b := k.get(name)
	if b == nil {
		return nil, errors.New("the worker has no such binary")
	}
	text, err := json.Marshal(b)
	return bytes.NewReader(text), err
}

// binary is a kernel compiled: by the worker that a request says, or here.
func (l *library) binary(ctx context.Context, k operator.Kernel, q remote.Request) (*compile.Binary, error) {
	name := remote.BinaryName(k.File, k.Digest())
	b := l.binaries.get(name)
	if b != nil {
		return b, nil
	}
	if q.From != "" {
		b = l.fetchBinary(ctx, q.From, name)
	}
	if b == nil {
		var err error
		if b, err = l.device.Compiler().Compile(ctx, compile.Request{Kernel: k, Arch: l.device.Arch(), Timeout: q.Limit}); err != nil {
			return nil, err
		}
	}
	l.binaries.put(name, b)
	return b, nil
}

const fetchLimit = 20 * time.Second

// fetchBinary gets what another worker compiled; nil: it cannot be had, or not be read.
func (l *library) fetchBinary(ctx context.Context, from, name string) *compile.Binary {
	limited, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	var text bytes.Buffer
	if err := l.broker.Fetch(limited, from, 0, name, mostBinary, &text); err != nil {
		return nil
	}
	b, _ := decodeBinary(text.Bytes())
	return b
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
