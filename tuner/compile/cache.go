package compile

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"
)

// Fingerprinter is a Compiler whose output depends on more than the request and
// its Version: flags of its own, a header that it adds. Cached asks for it.
type Fingerprinter interface {
	Fingerprint() string
}

// cached answers from a directory what its compiler has compiled before.
type cached struct {
	Compiler
	files       *files
	fingerprint string

	mu      sync.Mutex
	flights map[string]*flight // compilations under way, by key
}

// flight is one compilation that others may wait for.
type flight struct {
	done   chan struct{}
	binary *Binary
	err    error
}

// Cached wraps a compiler with a cache on disk. Binaries are kept, and so are
// compile errors, other than those that another day may not bring again
// (timeouts, crashes). Requests that are the same at the same time are compiled
// once. The cache is a convenience: a directory that cannot be used, or an entry
// that was damaged, costs compiling again and nothing else; CacheProblem tells.
func Cached(dir string, c Compiler) Compiler {
	k := &cached{Compiler: c, files: openFiles(dir), flights: map[string]*flight{}}
	if f, ok := c.(Fingerprinter); ok {
		k.fingerprint = f.Fingerprint()
	}
	return k
}

// CacheProblem returns the first reason for which a compiler made by Cached
// could not read or write its directory, nil if there was none.
func CacheProblem(c Compiler) error {
	if k, ok := c.(*cached); ok {
		return k.files.problem()
	}
	return nil
}

// Compile answers from the cache or compiles.
func (k *cached) Compile(ctx context.Context, r Request) (*Binary, error) {
	key := k.key(r)
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("compile %s: %w", r.Kernel.File, err)
		}
		f, mine := k.board(key)
		if mine {
			f.binary, f.err = k.lookUpOrCompile(ctx, key, r)
			k.land(key, f)
			return f.binary, f.err
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			continue
		}
		if isContext(f.err) {
			continue // the other's context ended, not ours
		}
		return copied(f.binary), f.err
	}
}

// board joins the compilation of that key, or begins it.
func (k *cached) board(key string) (f *flight, mine bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if f := k.flights[key]; f != nil {
		return f, false
	}
	f = &flight{done: make(chan struct{})}
	k.flights[key] = f
	return f, true
}

func (k *cached) land(key string, f *flight) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.flights, key)
	close(f.done)
}

func (k *cached) lookUpOrCompile(ctx context.Context, key string, r Request) (*Binary, error) {
	begin := time.Now()
	if e, ok := k.files.read(key); ok {
		if e.Error != nil {
			return nil, e.Error
		}
		e.Binary.Cached, e.Binary.Duration = true, time.Since(begin)
		return e.Binary, nil
	}
	binary, err := k.Compiler.Compile(ctx, r)
	var refused *Error
	switch {
	case err == nil:
		k.files.write(key, entry{Binary: binary})
	case errors.As(err, &refused) && !refused.Timeout && !refused.Crashed:
		k.files.write(key, entry{Error: refused})
	}
	return binary, err
}

// key is what a compilation's outcome depends on, hashed. Each part goes in
// with its length, so that no two lists of parts run together.
func (k *cached) key(r Request) string {
	h := sha256.New()
	put := func(parts ...string) {
		var length [8]byte
		for _, part := range append([]string{fmt.Sprint(len(parts))}, parts...) {
			binary.LittleEndian.PutUint64(length[:], uint64(len(part)))
			h.Write(length[:])
			_, _ = io.WriteString(h, part)
		}
	}
	put(fmt.Sprint(formatVersion), k.Version(), k.fingerprint, r.Arch)
	put(r.Flags...)
	put(r.Kernel.Entry, r.Kernel.File, r.Kernel.Source)
	for _, name := range slices.Sorted(maps.Keys(r.Kernel.Includes)) {
		put(name, r.Kernel.Includes[name])
	}
	put("macros")
	for _, m := range r.Kernel.Macros {
		put(m.Name, m.Value)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func isContext(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// copied gives each waiter its own Binary to annotate; the code is shared.
func copied(b *Binary) *Binary {
	if b == nil {
		return nil
	}
	own := *b
	own.Cached = true
	return &own
}
