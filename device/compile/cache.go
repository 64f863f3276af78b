package compile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/cache"
	"golang.org/x/sync/singleflight"

	"autotune/internal/cubin"
	"autotune/operator"
)

// Fingerprinter is a Compiler whose output depends on more than the request and its Version, for example on its own
// flags or on a header that it adds. Cached adds the compiler's fingerprint to the keys of cached binaries.
type Fingerprinter interface {
	Fingerprint() string
}

// formatVersion must be raised when entries or keys change their meaning. Cache entries of other format versions are
// never read again and are eventually trimmed.
const formatVersion = 3

// cached is a Compiler that returns earlier results of its compiler from a directory.
type cached struct {
	Compiler
	files       *cache.Cache // nil if the directory cannot be used
	fingerprint string
	underWay    singleflight.Group
}

// Cached wraps a compiler with a cache on disk. The cache keeps binaries and compile errors, but neither timeouts and
// crashes, which may not happen again, nor errors for missing headers. Identical requests that arrive at the same time
// are compiled once. If the cache's directory cannot be used or an entry is damaged, the kernel is simply compiled
// again.
func Cached(dir string, c Compiler) Compiler {
	k := &cached{Compiler: c, files: Kept(dir)}
	if f, ok := c.(Fingerprinter); ok {
		k.fingerprint = f.Fingerprint()
	}
	if k.files != nil {
		_ = k.files.Trim() // at most once a day, removes files that were not used for five days
	}
	return k
}

// Kept opens the folder of cached binaries as a cache for other kinds of files, or returns nil if dir is "" or cannot
// be used.
func Kept(dir string) *cache.Cache {
	if dir == "" || os.MkdirAll(dir, 0o755) != nil {
		return nil
	}
	kept, _ := cache.Open(dir)
	return kept
}

// Compile returns the cached binary of a kernel, or compiles the kernel. Kernels that differ only in sizes read at run
// time are compiled once.
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

// compile returns the cached binary of a request, or compiles the request. If another caller is already compiling an
// identical request, compile waits for that caller's result.
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
			continue // the context of the caller that compiled has ended, not ours
		}
		if binary != nil {
			// Each caller gets its own Binary to annotate; the code in it is shared.
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

// key hashes all that the result of a compilation depends on. The key of a cached compilation includes the file's name
// and the sources with their comments, because error messages name files and lines.
func (k *cached) key(r Request) cache.ActionID {
	kernel := r.Kernel
	return sha256.Sum256(fmt.Appendf(nil, "%d %q %q %q %q %q %q %q",
		formatVersion, k.Version(), k.fingerprint, r.Arch, kernel.File, kernel.Digest(), kernel.Source, kernel.Includes))
}

type entry struct {
	Binary *Binary
	Error  *Error
}

// read returns a cache entry. A damaged cache entry counts as absent, and the compilation that follows overwrites it.
func (k *cached) read(key cache.ActionID) (e entry, ok bool) {
	raw, _, err := k.files.GetBytes(key)
	ok = err == nil && gob.NewDecoder(bytes.NewReader(raw)).Decode(&e) == nil && (e.Binary == nil) != (e.Error == nil)
	return e, ok
}

// write stores a cache entry without syncing the file to disk: after a power cut a checksum detects a damaged entry,
// and the kernel is just compiled again.
func (k *cached) write(key cache.ActionID, e entry) {
	var raw bytes.Buffer
	if gob.NewEncoder(&raw).Encode(e) == nil {
		// PutNoVerify allows different contents under the same key: two compilations of one request differ in their
		// durations.
		_, _, _ = k.files.PutNoVerify(key, bytes.NewReader(raw.Bytes()))
	}
}

// A kernel that reads its sizes at run time has the same code for all sizes. The cache compiles a kernel that reads
// its sizes at run time once, with any sizes, and writes the requested sizes into copies of the kernel's binary.

// withSizes returns a copy of a binary with the given sizes written into it. ok is false if the binary has no variable
// for sizes.
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
