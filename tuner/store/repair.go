package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Repair copies every trial and winner that is whole into a new file, from a file
// that may be damaged. A value is whole if it decodes, has its checksum and lies
// under its own key. Repair tells what was copied and what was wrong. It only reads
// the old file. The new one appears complete or not at all; a file that is there is
// not replaced.
func Repair(ctx context.Context, path, to string) (tally Tally, issues []Issue, err error) {
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
	err = assemble(to, func(part string) error {
		into, err := Open(ctx, part, Options{})
		if err != nil {
			return err
		}
		issues, err = salvage(ctx, from, into, &tally)
		return errors.Join(err, into.Close())
	})
	if err == nil {
		return tally, issues, nil
	}
	// Errors name the final file, since users do not know the temporary one.
	var system syscall.Errno
	if errors.As(err, &system) {
		err = fmt.Errorf("cannot make %s: %w", to, system)
	}
	return Tally{}, issues, err
}

func openDamaged(ctx context.Context, path string) (opened, error) {
	s := &Store{path: path, options: Options{Wait: defaultWait, ReadOnly: true}, damagedList: true}
	return s.openWaiting(ctx, true)
}

// salvage copies a file's newest state. If that has faults, it adds what the state before still
// has, whose own faults are not reported.
func salvage(ctx context.Context, from opened, into *Store, tally *Tally) ([]Issue, error) {
	issues, err := salvageState(ctx, from, into, tally)
	if issues = append(damagedRoots(from.file), issues...); err != nil || len(issues) == 0 {
		return issues, err
	}
	before := filepath.Join(filepath.Dir(into.path), "before.db")
	if there, err := stateBefore(from.file, before); err != nil || !there {
		return issues, err
	}
	older, err := openDamaged(ctx, before)
	var damaged *DamagedError
	switch {
	case errors.As(err, &damaged):
		return issues, nil
	case err != nil:
		return issues, err
	}
	defer older.db.Close()
	_, err = salvageState(ctx, older, into, tally)
	return issues, err
}

func salvageState(ctx context.Context, o opened, into *Store, tally *Tally) ([]Issue, error) {
	var batch []piece
	w := &walker{ctx: ctx}
	w.visit = func(path []string, raw []byte) (fault, err error) {
		if fault := checkValue(path, raw); fault != nil {
			return fault, nil
		}
		if len(path) == 2 && path[1] == string(schemaKey) {
			if version, err := strconv.Atoi(string(raw)); err == nil && version > 0 && version != schemaVersion {
				return nil, &SchemaError{Path: o.db.Path(), Has: string(raw)}
			}
		}
		if p, ok := pieceOf(path, raw); ok {
			batch = append(batch, p)
		}
		if len(batch) < pieceBatch {
			return nil, ctx.Err()
		}
		err, batch = into.take(batch, false, tally), nil
		return nil, err
	}
	if err := o.db.View(w.walk); err != nil {
		return w.issues, err
	}
	return w.issues, into.take(batch, false, tally)
}

// bbolt keeps two root pages, 0 and 1, and writes them in turn: the newer one
// makes a transaction valid. Where the newer is damaged, bbolt silently takes the
// older, and the last transaction is gone. bbolt has no call that tells, so the
// few bytes that tell are read here.
const (
	metaMagic         = 0xED0CDAED
	metaStart         = 16 // after the page's header
	pageSizeAt        = 8
	metaTransactionAt = 48
	metaSumAt         = 56
	metaSize          = 64
)

// A root is one of the two root pages.
type root struct {
	at          int64 // of its contents in the file
	sound       bool
	pageSize    int64
	transaction uint64 // that wrote it
}

func roots(f io.ReaderAt) [2]root {
	first := readRoot(f, metaStart)
	size := int64(os.Getpagesize())
	if first.sound {
		size = first.pageSize
	}
	return [2]root{first, readRoot(f, size+metaStart)}
}

func readRoot(f io.ReaderAt, at int64) root {
	var raw [metaSize]byte
	_, err := f.ReadAt(raw[:], at)
	sum := fnv.New64a()
	sum.Write(raw[:metaSumAt])
	return root{
		at:          at,
		sound:       err == nil && binary.LittleEndian.Uint32(raw[:]) == metaMagic && sum.Sum64() == binary.LittleEndian.Uint64(raw[metaSumAt:]),
		pageSize:    int64(binary.LittleEndian.Uint32(raw[pageSizeAt:])),
		transaction: binary.LittleEndian.Uint64(raw[metaTransactionAt:]),
	}
}

// damagedRoots are the issues of root pages that are not sound.
func damagedRoots(f io.ReaderAt) (issues []Issue) {
	for page, r := range roots(f) {
		if !r.sound {
			issues = append(issues, Issue{"file", fmt.Sprintf("page %d", page),
				"one of the two root pages is damaged: what was stored last may be lost; the next search mends the page"})
		}
	}
	return issues
}

// stateBefore writes a copy of a file in which the state before the last
// transaction is the newest: the newer root page loses its checksum. bbolt writes
// no page that either root needs. It tells false where there is no such state.
func stateBefore(f *os.File, to string) (bool, error) {
	both := roots(f)
	if !both[0].sound || !both[1].sound {
		return false, nil
	}
	newer := both[0]
	if both[1].transaction > newer.transaction {
		newer = both[1]
	}
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	older, err := os.Create(to)
	if err != nil {
		return false, err
	}
	defer older.Close()
	if _, err := io.Copy(older, io.NewSectionReader(f, 0, info.Size())); err != nil {
		return false, err
	}
	_, err = older.WriteAt(make([]byte, 8), newer.at+metaSumAt)
	return err == nil, err
}
