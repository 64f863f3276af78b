package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"go.etcd.io/bbolt"
)

// Repair copies every trial and winner that is whole into a new file, from a file
// that may be damaged. A value is whole if it decodes, has its checksum and lies
// under its own key. Repair tells what was copied and what was wrong. It only reads
// the old file. The new one appears complete or not at all; a file that is there is
// not replaced.
func Repair(ctx context.Context, path, to string) (Tally, []Issue, error) {
	var tally Tally
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return tally, nil, fmt.Errorf("%s is there already; name a new file", to)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return tally, nil, &AbsentError{Path: path}
	}
	from, err := openDamaged(ctx, path)
	if err != nil {
		return tally, nil, err
	}
	defer from.db.Close()
	var issues []Issue
	err = assemble(to, func(part string) error {
		into, err := Open(ctx, part, Options{})
		if err != nil {
			return err
		}
		s := salvager{ctx: ctx, into: into, tally: &tally}
		err = s.file(from)
		issues = s.issues
		return errors.Join(err, into.Close())
	})
	// Users do not know the name that it had until it was complete.
	var system syscall.Errno
	switch {
	case errors.As(err, &system):
		return Tally{}, issues, fmt.Errorf("cannot make %s: %w", to, system)
	case err != nil:
		return Tally{}, issues, err
	}
	return tally, issues, nil
}

// salvager copies what a cursor can read of a damaged file.
type salvager struct {
	ctx    context.Context
	into   *Store
	tally  *Tally
	batch  []piece
	issues []Issue
	steps  int64 // that the cursors may still take: damaged pages can lead in circles
}

func (s *salvager) report(path []string, format string, args ...any) {
	where, key := place(path)
	if len(path) < 2 {
		where, key = "file", ""
	}
	issue := Issue{where, key, fmt.Sprintf(format, args...)}
	if len(s.issues) < maxIssues && !slices.Contains(s.issues, issue) {
		s.issues = append(s.issues, issue)
	}
}

// openDamaged opens a file to read, as much of it as it takes.
func openDamaged(ctx context.Context, path string) (opened, error) {
	s := &Store{path: path, options: Options{Wait: DefaultWait, ReadOnly: true}, damagedList: true}
	return s.openWaiting(ctx, true)
}

// file copies a file's newest state. Where that has faults, it adds what the state
// before still has.
func (s *salvager) file(from opened) error {
	s.issues = damagedRoots(from.file)
	if err := s.state(from); err != nil || len(s.issues) == 0 {
		return err
	}
	before := filepath.Join(filepath.Dir(s.into.path), "before.db")
	if there, err := stateBefore(from.file, before); err != nil || !there {
		return err
	}
	found := s.issues
	defer func() { s.issues = found }() // the older state's own faults would help nobody
	older, err := openDamaged(s.ctx, before)
	var damaged *DamagedError
	switch {
	case errors.As(err, &damaged):
		return nil
	case err != nil:
		return err
	}
	defer older.db.Close()
	return s.state(older)
}

// state copies what a database holds.
func (s *salvager) state(o opened) error {
	return o.db.View(func(tx *bbolt.Tx) error {
		s.steps = tx.Size()
		if err := s.bucket(tx.Cursor().Bucket()); err != nil {
			return err
		}
		return s.flush()
	})
}

// bucket copies what is whole in a bucket and in the buckets inside it. At a page
// that cannot be read it goes on from the bucket's other end.
func (s *salvager) bucket(b *bbolt.Bucket, path ...string) error {
	for _, backwards := range []bool{false, true} {
		c := b.Cursor()
		first, next := c.First, c.Next
		if backwards {
			first, next = c.Last, c.Prev
		}
		fault, err := caught(func() error {
			for key, raw := first(); key != nil && s.steps > 0; key, raw = next() {
				s.steps--
				if err := s.element(b, raw, append(slices.Clip(path), string(key))); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || fault == "" {
			return err
		}
		s.report(path, "a page is damaged, and what it held is left: %s", fault)
	}
	return nil
}

// element copies what lies at a path. Without raw it is a bucket of b.
func (s *salvager) element(b *bbolt.Bucket, raw []byte, path []string) error {
	if raw == nil && isBucket(path) {
		var child *bbolt.Bucket
		fault, _ := caught(func() error {
			child = b.Bucket([]byte(path[len(path)-1]))
			return nil
		})
		if child != nil {
			return s.bucket(child, path...)
		}
		s.report(path, "%s", cmp.Or(fault, "its bucket is there and cannot be found"))
		return nil
	}
	if err := checkValue(path, raw, raw == nil); err != nil {
		s.report(path, "%v", err)
		return nil
	}
	if len(path) == 2 && path[1] == string(schemaKey) {
		if version, err := strconv.Atoi(string(raw)); err == nil && version > schemaVersion {
			return &NewerError{Path: b.Tx().DB().Path(), Has: string(raw)}
		}
	}
	if p, ok := pieceOf(path, bytes.Clone(raw)); ok {
		s.batch = append(s.batch, p)
	}
	if len(s.batch) < pieceBatch {
		return s.ctx.Err()
	}
	return s.flush()
}

func (s *salvager) flush() error {
	batch := s.batch
	s.batch = nil
	return s.into.take(batch, s.tally)
}
