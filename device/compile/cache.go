package compile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rogpeppe/go-internal/cache"
	"golang.org/x/sync/singleflight"

	"autotune/internal/cubin"
	"autotune/operator"
)

// Fingerprinter is a Compiler whose output depends on more than the request and
// its Version: flags of its own, a header that it adds. Cached asks for it.
type Fingerprinter interface {
	Fingerprint() string
}

// formatVersion is raised when entries or keys change their meaning. Entries of
// other versions are then never found, and go in time.
const formatVersion = 3

// cached answers from a directory what its compiler has compiled before.
type cached struct {
	Compiler
	dir         string
	files       *cache.Cache // nil: the directory cannot be used
	fingerprint string
	underWay    singleflight.Group
	problem     atomic.Pointer[error] // the first
}

// Cached wraps a compiler with a cache on disk. It keeps binaries and compile errors, but no timeouts and crashes,
// which may not happen again, nor what misses headers. Requests that are the same at the same time are compiled once.
// The cache is a convenience: a directory that cannot be used, or a damaged entry, only costs compiling again.
// CacheProblem says when the directory could not be used.
func Cached(dir string, c Compiler) Compiler {
	k := &cached{Compiler: c, dir: dir}
	if f, ok := c.(Fingerprinter); ok {
		k.fingerprint = f.Fingerprint()
	}
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		k.files, err = cache.Open(dir)
	}
	if err == nil {
		err = k.files.Trim() // once a day, what was not used for five days
	}
	k.note(err)
	return k
}

// CacheProblem is the first error that a compiler made by Cached met when it read
// or wrote its directory; nil if there was none.
func CacheProblem(c Compiler) error {
	if k, ok := c.(*cached); ok && k.problem.Load() != nil {
		return *k.problem.Load()
	}
	return nil
}

// Kept opens a folder of compiled kernels for what else is kept there; nil where that is nowhere, or not possible.
func Kept(dir string) *cache.Cache {
	if dir == "" || os.MkdirAll(dir, 0o755) != nil {
		return nil
	}
	kept, _ := cache.Open(dir)
	return kept
}

func (k *cached) note(err error) {
	if err != nil {
		err = fmt.Errorf("compiled kernels are not kept in %s and must be compiled again next time: %w", k.dir, err)
		k.problem.CompareAndSwap(nil, &err)
	}
}

// Compile answers from the cache or compiles. Kernels that differ in sizes alone, which they read when
// they run, are compiled once.
func (k *cached) Compile(ctx context.Context, r Request) (*Binary, error) {
	if common, ok := r.Kernel.OfAnySize(); ok && strings.HasPrefix(r.Arch, "sm_") {
		of := r
		of.Kernel = common
		b, err := k.compile(ctx, of)
		if err != nil {
			return b, err
		}
		if own, ok := withSizes(b, r.Kernel.Sizes); ok {
			return own, nil
		}
	}
	return k.compile(ctx, r)
}

// compile answers from the cache or compiles. When another caller already compiles the same, it waits
// for that outcome.
func (k *cached) compile(ctx context.Context, r Request) (*Binary, error) {
	key := k.key(r)
	for ctx.Err() == nil {
		mine := false
		made, err, _ := k.underWay.Do(string(key[:]), func() (any, error) {
			mine = true
			return k.lookUpOrCompile(ctx, key, r)
		})
		binary := made.(*Binary)
		if mine {
			return binary, err
		}
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			continue // the other's context ended, not ours
		}
		if binary != nil {
			// Each caller annotates a Binary of its own; the code is shared.
			own := *binary
			own.Cached, binary = true, &own
		}
		return binary, err
	}
	return nil, fmt.Errorf("compile %s: %w", r.Kernel.File, ctx.Err())
}

func (k *cached) lookUpOrCompile(ctx context.Context, key cache.ActionID, r Request) (*Binary, error) {
	if k.files == nil {
		return k.Compiler.Compile(ctx, r)
	}
	begin := time.Now()
	if e, ok := k.read(key); ok {
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
		k.write(key, entry{Binary: binary})
	case errors.As(err, &refused) && !refused.Timeout && !refused.Crashed && !refused.NoHeaders:
		k.write(key, entry{Error: refused})
	}
	return binary, err
}

// key is what a compilation's outcome depends on, hashed. The file's name and the
// texts with their comments are in it because errors name files and lines.
func (k *cached) key(r Request) cache.ActionID {
	kernel := r.Kernel
	return sha256.Sum256(fmt.Appendf(nil, "%d %q %q %q %q %q %q %q",
		formatVersion, k.Version(), k.fingerprint, r.Arch, kernel.File, kernel.Digest(), kernel.Source, kernel.Includes))
}

// entry is what is kept of a compilation: one of the two.
type entry struct {
	Binary *Binary
	Error  *Error
}

// read returns an entry. One that is damaged counts as absent and is written anew after the compilation that follows.
func (k *cached) read(key cache.ActionID) (entry, bool) {
	raw, _, err := k.files.GetBytes(key)
	var system *fs.PathError
	if errors.As(err, &system) && !errors.Is(err, fs.ErrNotExist) {
		k.note(err)
	}
	e, invalid := decodeEntry(raw)
	return e, err == nil && invalid == nil
}

func decodeEntry(raw []byte) (entry, error) {
	var e entry
	if err := gob.NewDecoder(bytes.NewReader(raw)).Decode(&e); err != nil {
		return entry{}, err
	}
	if (e.Binary == nil) == (e.Error == nil) {
		return entry{}, errors.New("an entry must hold a binary or an error")
	}
	return e, nil
}

// write keeps an entry. Nothing is synced to the disk: a checksum finds out what
// a power cut took, and compiling again is all that it costs.
func (k *cached) write(key cache.ActionID, e entry) {
	raw, err := encodeEntry(e)
	if err == nil {
		// Two compilations of one request differ in their durations.
		_, _, err = k.files.PutNoVerify(key, bytes.NewReader(raw))
	}
	k.note(err)
}

func encodeEntry(e entry) ([]byte, error) {
	var raw bytes.Buffer
	err := gob.NewEncoder(&raw).Encode(e)
	return raw.Bytes(), err
}

// A kernel that reads its sizes when it runs is one code for all of them. So it is compiled once, with
// any, and the file gets those that are asked for.

// withSizes is a copy of a binary that has a kernel's sizes; not ok: it has no place for them.
func withSizes(b *Binary, sizes []operator.Size) (_ *Binary, ok bool) {
	const each = 4
	at, err := cubin.Variable(b.Code, operator.SizesSymbol, each*len(sizes))
	if err != nil {
		return nil, false
	}
	own := *b
	own.Code = slices.Clone(b.Code)
	for i, s := range sizes {
		n, _ := s.Value.AsInt()
		binary.LittleEndian.PutUint32(own.Code[at+int64(each*i):], uint32(n))
	}
	return &own, true
}
