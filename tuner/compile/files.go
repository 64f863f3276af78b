package compile

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// formatVersion is raised when entries or keys change their meaning; entries of
// other versions are then never found and go with time.
const formatVersion = 1

// The bounds of the cache.
const (
	maxBytes      = 1 << 30
	pruneEvery    = 24 * time.Hour
	keepAfter     = 0.8 // pruning leaves this share of maxBytes, so that the next one is not due at once
	abandonedTime = time.Hour
)

const (
	magic      = "autotune compiled 1\n"
	prunedFile = "pruned"
	partSuffix = ".part"
)

// entry is what is kept of a compilation: one of the two.
type entry struct {
	Binary *Binary
	Error  *Error
}

// files is the cache's directory: one file an entry, headed by a checksum of
// the rest.
type files struct {
	dir string

	mu       sync.Mutex
	firstErr error
}

// openFiles prepares the directory. It may belong to the user for other things
// too by mistake, so only what looks like an entry is ever removed from it.
func openFiles(dir string) *files {
	f := &files{dir: dir}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		f.note(err)
		return f
	}
	f.pruneIfDue(time.Now())
	return f
}

// path spreads the entries over 256 folders.
func (f *files) path(key string) string { return filepath.Join(f.dir, key[:2], key) }

// note remembers the first problem.
func (f *files) note(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.firstErr == nil {
		f.firstErr = fmt.Errorf("compiled kernels are not cached in %s: %w", f.dir, err)
	}
}

func (f *files) problem() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.firstErr
}

// read returns an entry. One that is damaged counts as absent and is written
// anew after the compilation that follows.
func (f *files) read(key string) (entry, bool) {
	path := f.path(key)
	raw, err := os.ReadFile(path)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			f.note(err)
		}
		return entry{}, false
	}
	e, err := decodeEntry(raw)
	if err != nil {
		return entry{}, false
	}
	// The time tells pruning what is in use; without it the entry only looks older.
	now := time.Now()
	_ = os.Chtimes(path, now, now)
	return e, true
}

// write keeps an entry. Readers see the whole of it or nothing, because it is
// renamed into place; it is not synced to the disk, because the checksum finds
// out after a power cut what was lost, and compiling again is all that it costs.
func (f *files) write(key string, e entry) {
	raw, err := encodeEntry(e)
	if err == nil {
		err = replaceFile(f.path(key), raw)
	}
	if err != nil {
		f.note(err)
	}
}

func replaceFile(path string, raw []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	part, err := os.CreateTemp(filepath.Dir(path), "*"+partSuffix)
	if err != nil {
		return err
	}
	_, err = part.Write(raw)
	err = errors.Join(err, part.Close())
	if err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part.Name()))
	}
	return nil
}

func encodeEntry(e entry) ([]byte, error) {
	var body bytes.Buffer
	if err := gob.NewEncoder(&body).Encode(e); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body.Bytes())
	return slices.Concat([]byte(magic), sum[:], body.Bytes()), nil
}

var errDamaged = errors.New("damaged cache entry")

func decodeEntry(raw []byte) (entry, error) {
	body, ok := bytes.CutPrefix(raw, []byte(magic))
	if !ok || len(body) < sha256.Size {
		return entry{}, errDamaged
	}
	sum := [sha256.Size]byte(body)
	body = body[sha256.Size:]
	if sha256.Sum256(body) != sum {
		return entry{}, errDamaged
	}
	var e entry
	if err := gob.NewDecoder(bytes.NewReader(body)).Decode(&e); err != nil {
		return entry{}, err
	}
	if (e.Binary == nil) == (e.Error == nil) {
		return entry{}, errDamaged
	}
	return e, nil
}

// pruneIfDue bounds the directory's size, at most once a day: the walk over all
// entries is short but not free.
func (f *files) pruneIfDue(now time.Time) {
	stamp := filepath.Join(f.dir, prunedFile)
	if info, err := os.Stat(stamp); err == nil && now.Sub(info.ModTime()) < pruneEvery {
		return
	}
	if err := os.WriteFile(stamp, nil, 0o644); err != nil {
		f.note(err)
		return
	}
	if err := os.Chtimes(stamp, now, now); err != nil {
		f.note(err)
	}
	f.prune(now, maxBytes)
}

// prune removes the entries that were used longest ago until the rest is well
// within the bound, and what interrupted writes left behind.
func (f *files) prune(now time.Time, bound int64) {
	type file struct {
		path  string
		bytes int64
		used  time.Time
	}
	var all []file
	var total int64
	// What cannot be walked or removed is somebody else's to deal with.
	_ = filepath.WalkDir(f.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == prunedFile {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		ours := filepath.Dir(filepath.Dir(path)) == filepath.Clean(f.dir)
		if ours && filepath.Ext(path) == partSuffix {
			if now.Sub(info.ModTime()) > abandonedTime {
				_ = os.Remove(path)
			}
			return nil
		}
		if !ours || len(d.Name()) != hex.EncodedLen(sha256.Size) {
			return nil
		}
		all = append(all, file{path, info.Size(), info.ModTime()})
		total += info.Size()
		return nil
	})
	if total <= bound {
		return
	}
	slices.SortFunc(all, func(a, b file) int { return a.used.Compare(b.used) })
	for _, old := range all {
		if float64(total) <= keepAfter*float64(bound) {
			return
		}
		if os.Remove(old.path) == nil {
			total -= old.bytes
		}
	}
}
