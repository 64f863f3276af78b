// Package store keeps the results of searches in one bbolt file: every trial, and each problem's winner.
//
// A problem on a device (ProblemID) has a bucket of its own. A trial's key in the problem's bucket is the digest of
// all that its outcome depends on (Provenance): the kernel's source, includes and macros, the versions of compiler
// and driver, the GPU, the measuring protocol. Because the key depends on the kernel, a search with an edited
// kernel looks up other keys, and never gets times of the kernel before the edit. A search with the same kernels
// finds the earlier trials, so an interrupted search continues where it stopped.
//
// Many processes share a file: each transaction opens, uses and closes it within milliseconds. A process that cannot
// open the file waits, and at the end of its time limit reports which process holds it. Trials and winners are on the
// disk when PutTrials and PutWinner return. A process that is killed at any moment leaves a file that can be opened and
// contains all acknowledged trials. Every value carries a checksum: bbolt's checksums cover only its meta pages, and a
// flipped bit must not make a kernel look faster. A damaged file is reported (DamagedError) and never changed or
// removed; Check lists the damage, and Merge copies the intact values into another file.
package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"sync"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"autotune/internal/input"
)

// schemaVersion is raised when the meaning of the file's contents changes. Open refuses files with another schema
// version.
const schemaVersion = 2

// defaultWait is how long a transaction waits for other processes, which usually hold the file for milliseconds.
const defaultWait = 10 * time.Second

// lockPoll is how often a waiting transaction tries to open the file.
const lockPoll = 5 * time.Millisecond

// Options configure Open; the zero value waits ten seconds for other processes and creates a missing file.
type Options struct {
	Wait     time.Duration // how long to wait for other processes; 0: ten seconds, negative: not at all
	ReadOnly bool          // the file must exist
}

// Store gives access to a file, which it opens for each transaction. Several goroutines may use a Store at once.
type Store struct {
	path    string
	options Options

	mu      sync.Mutex    // locked during a transaction
	damaged *DamagedError // once set, the file is not opened again
	closed  bool
	checked bool // whether its pages were checked, before the first write
}

// Open checks that the file is a cache, or creates it and its folder if it does not exist. Open returns errors of the
// types *AbsentError, *LockedError, *DamagedError, *ForeignError and *SchemaError, or an error of the operating system.
func Open(ctx context.Context, path string, opt Options) (*Store, error) {
	if err := prepare(path, opt); err != nil {
		return nil, err
	}
	opt.Wait = cmp.Or(opt.Wait, defaultWait)
	s := &Store{path: path, options: opt}
	if err := s.recognise(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// prepare creates a missing file; if the file exists, prepare checks it before bbolt reads it.
func prepare(path string, opt Options) error {
	info, err := os.Stat(path)
	switch absent := errors.Is(err, fs.ErrNotExist); {
	case absent && opt.ReadOnly:
		return &AbsentError{Path: path}
	case absent:
		err = create(path)
	case err != nil:
	case info.IsDir():
		err = errors.New("it is a directory")
	case opt.ReadOnly && info.Size() == 0:
		return &ForeignError{path, "it is empty"} // bbolt would fill an empty file
	case !opt.ReadOnly: // refuse a file that may not be written before any work
		var f *os.File
		if f, err = os.OpenFile(path, os.O_RDWR, 0); err == nil {
			err = f.Close()
		}
	}
	return unusable(path, err)
}

// unusable returns an error that gives the operating system's reason for not opening the file.
func unusable(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot use the cache %s: %w; use --cache to name another", path, input.Reason(err))
}

// create makes a cache file without trials. If another process creates the file at the same time, the file of the first
// process stays.
func create(path string) error {
	err := assemble(path, func(part string) error {
		db, err := bbolt.Open(part, 0o644, nil)
		if err != nil {
			return err
		}
		return errors.Join(db.Update(initialise), db.Close())
	})
	var link *os.LinkError
	if errors.As(err, &link) {
		return nil // if the file system has no links, bbolt creates the file
	}
	return err
}

// assemble calls `fill` to create a file in a temporary folder, and then links the complete file to `path`. Because the
// file is complete when it appears, a killed process never leaves an incomplete file at `path`. If a file exists at
// `path` already, that file stays, and the error is an *os.LinkError.
func assemble(path string, fill func(part string) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), filepath.Base(path)+".*.new")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	part := filepath.Join(dir, "cache.db")
	if err := fill(part); err != nil {
		return err
	}
	return os.Link(part, path)
}

type opened struct {
	file *os.File // the file that bbolt uses
	db   *bbolt.DB
}

// transact opens the file, runs f on it and closes it. Once a Store has found its file damaged, it does not open the
// file again.
func (s *Store) transact(ctx context.Context, readOnly bool, f func(opened) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("the cache %s is closed", s.path)
	}
	if s.damaged != nil {
		return s.damaged
	}
	o, err := s.openWaiting(ctx, readOnly || s.options.ReadOnly)
	if err != nil {
		return err
	}
	err = s.guard(func() error {
		if err := o.whole(s.path); err != nil {
			return err
		}
		return f(o)
	})
	if s.damaged != nil {
		// bbolt's Close is not called after a panic, since the panic may have left bbolt's locks held and Close would
		// wait for them for ever.
		return errors.Join(err, o.letGo())
	}
	return errors.Join(err, o.db.Close())
}

func (s *Store) openWaiting(ctx context.Context, readOnly bool) (opened, error) {
	begin := time.Now()
	for {
		o, err := s.open(readOnly)
		if !errors.Is(err, bolterrors.ErrTimeout) {
			return o, err
		}
		if time.Since(begin) >= s.options.Wait {
			return o, lockedBy(s.path, max(s.options.Wait, 0))
		}
		select {
		case <-ctx.Done():
			return o, fmt.Errorf("wait for the cache %s: %w", s.path, ctx.Err())
		case <-time.After(lockPoll):
		}
	}
}

func (s *Store) open(readOnly bool) (o opened, err error) {
	options := *bbolt.DefaultOptions
	options.ReadOnly = readOnly
	options.Timeout = time.Nanosecond // one try, since openWaiting does the waiting
	options.PreLoadFreelist = true    // a fault of a damaged list can be caught here
	options.OpenFile = func(name string, flag int, mode os.FileMode) (*os.File, error) {
		f, err := os.OpenFile(name, flag, mode)
		o.file = f
		return f, err
	}
	err = s.guard(func() (err error) {
		o.db, err = bbolt.Open(s.path, 0o644, &options)
		return err
	})
	var path *fs.PathError
	switch {
	case err == nil || errors.Is(err, bolterrors.ErrTimeout):
		return o, err
	case s.damaged != nil:
		// After bbolt has failed to open the file, its method Close cannot be called.
		return o, errors.Join(err, o.letGo())
	case errors.Is(err, bolterrors.ErrInvalid):
		return o, &ForeignError{s.path, "it is no database"}
	case errors.As(err, &path):
		return o, unusable(s.path, err)
	case errors.Is(err, syscall.ENOLCK) || errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.EINVAL):
		return o, unusable(s.path, fmt.Errorf("its file system has no locks (%w)", err))
	}
	return o, &DamagedError{Path: s.path, Detail: err.Error()}
}

// letGo unlocks and closes the file without calling bbolt. A file that is mapped into memory stays locked after it is
// closed, so it must be unlocked first.
func (o opened) letGo() error {
	return errors.Join(syscall.Flock(int(o.file.Fd()), syscall.LOCK_UN), o.file.Close())
}

func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

func (s *Store) view(f func(tx *bbolt.Tx) error) error {
	return s.transact(context.Background(), true, func(o opened) error { return o.db.View(f) })
}

func (s *Store) update(f func(tx *bbolt.Tx) error) error {
	return s.transact(context.Background(), false, func(o opened) error {
		if !s.checked {
			// bbolt would overwrite intact trials if the file's list of free pages were damaged.
			issues, err := check(context.Background(), o, false)
			if err == nil && len(issues) > 0 {
				err = &DamagedError{s.path, issues[0].String()}
			}
			if err != nil {
				return err
			}
			s.checked = true
		}
		return o.db.Update(func(tx *bbolt.Tx) error {
			if tx.Bucket(aboutBucket) != nil { // another version may have written to it since it was opened
				if err := checkSchema(tx, s.path); err != nil {
					return err
				}
			}
			return f(tx)
		})
	})
}

// guard runs f. If f fails because the file is damaged, guard returns a *DamagedError and stores it, so that the file
// is not opened again.
func (s *Store) guard(f func() error) error {
	fault, err := caught(f)
	if fault != "" {
		s.damaged = &DamagedError{Path: s.path, Detail: fault}
		return s.damaged
	}
	return err
}

// caught runs f and returns a panic in it as the fault. bbolt panics at a damaged page, and reading beyond the end of
// a shortened file is a memory fault.
func caught(f func() error) (fault string, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if value := recover(); value != nil {
			fault = fmt.Sprint(value)
		}
	}()
	return "", f()
}

// recognise checks that the file is a cache of the current schema, and creates the buckets if it is empty.
func (s *Store) recognise(ctx context.Context) error {
	info, err := os.Stat(s.path)
	if err != nil {
		return unusable(s.path, err)
	}
	empty := false // bbolt fills a file of zero bytes unless it is read-only
	err = s.transact(ctx, info.Size() > 0, func(o opened) error {
		return o.db.View(func(tx *bbolt.Tx) error {
			if name, _ := tx.Cursor().First(); name == nil {
				empty = true
				return nil
			}
			return checkSchema(tx, s.path)
		})
	})
	if err != nil || !empty || s.options.ReadOnly {
		return err
	}
	return s.update(initialise)
}

func (o opened) whole(path string) error {
	info, err := o.file.Stat()
	if err != nil {
		return unusable(path, err)
	}
	return o.db.View(func(tx *bbolt.Tx) error {
		if tx.Size() > info.Size() {
			return &DamagedError{path, fmt.Sprintf("it should have at least %d bytes and has %d", tx.Size(), info.Size())}
		}
		return nil
	})
}

func checkSchema(tx *bbolt.Tx, path string) error {
	about := tx.Bucket(aboutBucket)
	if about == nil && tx.Bucket(problemsBucket) != nil {
		return &DamagedError{path, "its schema version is missing"}
	}
	if about == nil {
		return &ForeignError{path, "it is another program's database"}
	}
	has := string(about.Get(schemaKey))
	version, err := strconv.Atoi(has)
	if err != nil || version < 1 {
		return &DamagedError{path, fmt.Sprintf("its schema version reads %q", has)}
	}
	if version != schemaVersion {
		return &SchemaError{Path: path, Has: has}
	}
	if tx.Bucket(problemsBucket) == nil {
		return &DamagedError{path, "its list of problems is missing"}
	}
	return nil
}

func initialise(tx *bbolt.Tx) error {
	about, err := tx.CreateBucketIfNotExists(aboutBucket)
	if err != nil {
		return err
	}
	if err := about.Put(schemaKey, []byte(strconv.Itoa(schemaVersion))); err != nil {
		return err
	}
	_, err = tx.CreateBucketIfNotExists(problemsBucket)
	return err
}
