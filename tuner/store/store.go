// Package store keeps what searches found out, in one bbolt file that outlives
// them: every trial, and each problem's winner.
//
// A problem on a device (ProblemID) has a bucket of its own. In it a trial's key
// is the digest of all that its outcome depends on (Provenance): the kernel's
// source, includes and macros, the versions of compiler and driver, the GPU, the
// measuring protocol. A search with an edited kernel therefore asks for other
// keys and never gets old times. One that asks for the same keys again finds the
// trials, so an interrupted search goes on where it stopped.
//
// One process writes at a time; Open waits for the others and then says who they
// are. Trials and winners are on the disk when PutTrials and PutWinner return, and
// a process that is killed at any moment leaves a file that opens and holds them.
// Every value carries a checksum: bbolt guards only its own page headers, and a
// flipped bit must not become a faster kernel. A damaged file is reported
// (DamagedError) and never repaired or removed; Check tells the details.
package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// schemaVersion is raised when the layout of the file changes its meaning.
const schemaVersion = 1

// DefaultWait is how long Open waits for another process when Options says
// nothing else.
const DefaultWait = 3 * time.Second

// lockPoll is how often a waiting Open tries again.
const lockPoll = 50 * time.Millisecond

// Options adjust Open; the zero value is right for a search.
type Options struct {
	Wait     time.Duration // for another process to let the file go; 0: DefaultWait, negative: not at all
	ReadOnly bool          // many may read at once; the file must exist
}

// Store is an open file. Its methods may be used by many goroutines at once.
type Store struct {
	path string
	file *os.File // the one that bbolt works on
	db   *bbolt.DB

	mu      sync.Mutex
	damaged *DamagedError // once seen, nothing more is tried
	closed  bool
}

// Open opens the file and makes it, and its folder, if there is none. Its errors
// are *AbsentError, *LockedError, *DamagedError, *ForeignError, *NewerError, or
// wrap what the operating system said.
func Open(ctx context.Context, path string, opt Options) (*Store, error) {
	if err := prepare(path, opt); err != nil {
		return nil, err
	}
	s := &Store{path: path}
	if err := s.openWaiting(ctx, opt); err != nil {
		return nil, err
	}
	if err := s.recognise(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// prepare makes a new file, or looks at an old one before bbolt does.
func prepare(path string, opt Options) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && opt.ReadOnly:
		return &AbsentError{Path: path}
	case errors.Is(err, fs.ErrNotExist):
		if err := create(path); err != nil {
			return unusable(path, err)
		}
		return nil
	case err != nil:
		return unusable(path, err)
	case info.IsDir():
		return unusable(path, errors.New("it is a directory"))
	case info.Size() == 0 && opt.ReadOnly:
		return foreign(path) // else bbolt fills it
	}
	return nil
}

func unusable(path string, err error) error {
	// Only the operating system's reason is kept: users do not know our file names.
	var system *fs.PathError
	if errors.As(err, &system) {
		err = system.Err
	}
	return fmt.Errorf("cannot use the cache %s: %w; use --cache to name another", path, err)
}

// create makes an empty store beside its place and links it there complete, so
// that a process killed meanwhile leaves no half of a file under that name. When
// somebody else was faster, theirs stays.
func create(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), filepath.Base(path)+".*.new")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	part := filepath.Join(dir, "cache.db")
	db, err := bbolt.Open(part, 0o644, nil)
	if err != nil {
		return err
	}
	if err := errors.Join(db.Update(initialise), db.Close()); err != nil {
		return err
	}
	// On a file system without links, bbolt makes the file itself.
	_ = os.Link(part, path)
	return nil
}

// openWaiting opens the file, again and again while another process has it.
func (s *Store) openWaiting(ctx context.Context, opt Options) error {
	wait := opt.Wait
	if wait == 0 {
		wait = DefaultWait
	}
	begin := time.Now()
	for {
		err := s.open(opt)
		if !errors.Is(err, bolterrors.ErrTimeout) {
			return err
		}
		if time.Since(begin) >= wait {
			return lockedBy(s.path, max(wait, 0))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the cache %s: %w", s.path, ctx.Err())
		case <-time.After(lockPoll):
		}
	}
}

func (s *Store) open(opt Options) error {
	options := *bbolt.DefaultOptions
	options.ReadOnly = opt.ReadOnly
	options.Timeout = time.Nanosecond // one try; the waiting is done by openWaiting
	options.PreLoadFreelist = true    // here, where a damaged one can be caught
	options.OpenFile = func(name string, flag int, mode os.FileMode) (*os.File, error) {
		f, err := os.OpenFile(name, flag, mode)
		s.file = f
		return f, err
	}
	err := s.guard(func() (err error) {
		s.db, err = bbolt.Open(s.path, 0o644, &options)
		return err
	})
	var path *fs.PathError
	switch {
	case err == nil || errors.Is(err, bolterrors.ErrTimeout):
		return err
	case s.damaged != nil:
		// bbolt had no chance to let go of the file.
		return errors.Join(err, s.letGo())
	case errors.Is(err, bolterrors.ErrInvalid):
		return foreign(s.path)
	case errors.As(err, &path):
		return unusable(s.path, err)
	}
	return &DamagedError{Path: s.path, Detail: err.Error()}
}

// Close lets the file go.
func (s *Store) Close() error {
	s.mu.Lock()
	closed, damaged := s.closed, s.damaged
	s.closed = true
	s.mu.Unlock()
	if closed {
		return nil
	}
	if damaged != nil {
		// bbolt may have stopped with its locks held, and closing it would
		// wait for them without end.
		return s.letGo()
	}
	return s.db.Close()
}

// letGo frees the file for others without bbolt's help. Closing alone would not:
// the file stays mapped, and with it its lock.
func (s *Store) letGo() error {
	return errors.Join(syscall.Flock(int(s.file.Fd()), syscall.LOCK_UN), s.file.Close())
}

// view and update run a transaction. Once the file proved damaged, none is
// begun any more.
func (s *Store) view(f func(tx *bbolt.Tx) error) error {
	return s.transact(func() error { return s.db.View(f) })
}

func (s *Store) update(f func(tx *bbolt.Tx) error) error {
	return s.transact(func() error { return s.db.Update(f) })
}

func (s *Store) transact(f func() error) error {
	s.mu.Lock()
	damaged, closed := s.damaged, s.closed
	s.mu.Unlock()
	if closed {
		return fmt.Errorf("the cache %s is closed", s.path)
	}
	if damaged != nil {
		return damaged
	}
	return s.guard(f)
}

// guard runs f. bbolt panics when it meets a damaged page, and reading what a
// damaged or shortened file does not hold is a memory fault. Both become a
// *DamagedError, which is remembered.
func (s *Store) guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if value := recover(); value != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.damaged = &DamagedError{Path: s.path, Detail: fmt.Sprint(value)}
			err = s.damaged
		}
	}()
	return f()
}
