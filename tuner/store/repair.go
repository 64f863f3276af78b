package store

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// Where a root page's contents have the page size, the root of all and the number
// of the transaction that wrote it.
const (
	metaRootAt        = 16
	metaTransactionAt = 48
)

// Repair copies what is whole in a file, damaged or not, into a new one: trials
// and winners that decode, have their checksum and lie under their own key. It
// tells what was copied and what was wrong. The old file is only read. The new one
// appears complete or not at all; a file that is there is not replaced.
func Repair(ctx context.Context, path, to string) (Tally, []Issue, error) {
	var tally Tally
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return tally, nil, fmt.Errorf("%s is there already; name a new file", to)
	}
	f, err := openDamaged(ctx, path)
	if err != nil {
		return tally, nil, err
	}
	defer f.Close()
	var issues []Issue
	err = assemble(to, func(part string) error {
		s, err := Open(ctx, part, Options{})
		if err != nil {
			return err
		}
		issues, err = salvage(ctx, f, s, &tally)
		return errors.Join(err, s.Close())
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

// openDamaged opens a file to read, when nobody writes it any more.
func openDamaged(ctx context.Context, path string) (*os.File, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &AbsentError{Path: path}
	}
	if err != nil {
		return nil, unusable(path, err)
	}
	for begin := time.Now(); ; time.Sleep(lockPoll) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
		switch {
		case err == nil:
			return f, nil
		case !errors.Is(err, syscall.EWOULDBLOCK):
			err = unusable(path, err)
		case ctx.Err() != nil:
			err = ctx.Err()
		case time.Since(begin) > DefaultWait:
			err = lockedBy(path, DefaultWait)
		default:
			continue
		}
		return nil, errors.Join(err, f.Close())
	}
}

// salvage copies what the newer of the two root pages leads to. Where that has
// faults, the older one leads to what was there one transaction before: bbolt
// writes no page that either of them needs.
func salvage(ctx context.Context, f *os.File, into *Store, tally *Tally) ([]Issue, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, unusable(f.Name(), err)
	}
	roots, issues := roots(f)
	if len(roots) == 0 {
		return issues, nothingToSave(f)
	}
	for i, root := range roots {
		s := newSalvager(f, info.Size(), root)
		if err := s.copyInto(ctx, root, into, tally); err != nil {
			return issues, err
		}
		if i == 0 {
			issues = append(issues, s.issues...)
		}
		if len(issues) == 0 {
			break
		}
	}
	return issues, nil
}

// roots are the contents of the root pages that are whole, the newest first.
func roots(f *os.File) (whole [][]byte, issues []Issue) {
	size := int64(os.Getpagesize())
	if first := meta(f, 0); sound(first) {
		size = int64(binary.LittleEndian.Uint32(first[pageSizeAt:]))
	}
	for page := range int64(2) {
		if m := meta(f, page*size); sound(m) {
			whole = append(whole, m)
		} else {
			issues = append(issues, Issue{"file", fmt.Sprintf("page %d", page), "one of the two pages that tell where everything lies is damaged"})
		}
	}
	transaction := func(m []byte) uint64 { return binary.LittleEndian.Uint64(m[metaTransactionAt:]) }
	slices.SortFunc(whole, func(a, b []byte) int { return cmp.Compare(transaction(b), transaction(a)) })
	return whole, issues
}

// nothingToSave tells a file that is no cache from one without a root.
func nothingToSave(f *os.File) error {
	head := make([]byte, metaStart+4)
	_, err := f.ReadAt(head, 0)
	if err != nil || binary.LittleEndian.Uint32(head[metaStart:]) != metaMagic {
		return foreign(f.Name())
	}
	return fmt.Errorf("nothing of %s can be copied: both pages that tell where everything lies are damaged", f.Name())
}

// copyInto takes all that is whole under a root into a store.
func (s *salvager) copyInto(ctx context.Context, root []byte, into *Store, tally *Tally) error {
	var batch []piece
	s.value = func(path []string, raw []byte) error {
		if len(path) == 2 && path[1] == string(schemaKey) {
			if version, err := strconv.Atoi(string(raw)); err == nil && version > schemaVersion {
				return &NewerError{Path: s.file.Name(), Has: string(raw)}
			}
		}
		if p, ok := pieceOf(path, raw); ok {
			batch = append(batch, p)
		}
		if len(batch) < pieceBatch {
			return ctx.Err()
		}
		err := into.take(batch, tally)
		batch = nil
		return err
	}
	if err := s.follow(binary.LittleEndian.Uint64(root[metaRootAt:]), nil); err != nil {
		return err
	}
	return into.take(batch, tally)
}
