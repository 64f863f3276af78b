package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
)

// Issue is something wrong with a file.
type Issue struct {
	Where   string `json:"where"` // the problem, or "file"
	Key     string `json:"key,omitempty"`
	Message string `json:"message"`
}

func (i Issue) String() string {
	if i.Key != "" {
		return fmt.Sprintf("%s, %s: %s", i.Where, i.Key, i.Message)
	}
	return fmt.Sprintf("%s: %s", i.Where, i.Message)
}

// maxIssues is how many issues a check reports at most.
const maxIssues = 1000

// CheckFile opens a file for reading and checks it. A file that is too damaged to be opened is an issue, not an error.
func CheckFile(ctx context.Context, path string) (issues []Issue, err error) {
	s, err := Open(ctx, path, Options{ReadOnly: true})
	if err == nil {
		issues, err = s.Check(ctx)
		err = errors.Join(err, s.Close())
	}
	var damaged *DamagedError
	if errors.As(err, &damaged) {
		return append(issues, Issue{Where: "file", Message: damaged.Detail}), nil
	}
	return issues, err
}

// Check reads every value: each must decode and lie under the key that it belongs to. bbolt then checks its pages.
// Nothing may be written meanwhile.
func (s *Store) Check(ctx context.Context) (issues []Issue, err error) {
	err = s.transact(ctx, true, func(o opened) (err error) {
		issues, err = check(ctx, o, checkValue)
		return err
	})
	return issues, err
}

// check walks through a database, has each value looked at, and lets bbolt check its pages. bbolt's check runs on a
// goroutine of its own, where touching memory that is not there ends the program. So it follows only what the guarded
// walk could follow, and prints no key, since a damaged one may claim any length.
func check(ctx context.Context, o opened, fault func(path []string, raw []byte) error) ([]Issue, error) {
	w := &walker{ctx: ctx, visit: func(path []string, raw []byte) (error, error) { return fault(path, raw), nil }}
	err := o.db.View(func(tx *bbolt.Tx) error {
		if err := errors.Join(w.pages(tx), w.walk(tx)); err != nil || len(w.issues) > 0 {
			return err
		}
		// The channel must be read to its end, or its goroutine would stay.
		for err := range tx.Check(bbolt.WithKVStringer(unprinted{})) {
			w.report(nil, "%v", err)
		}
		return ctx.Err()
	})
	return w.issues, err
}

type unprinted struct{}

func (unprinted) KeyToString([]byte) string   { return "a key" }
func (unprinted) ValueToString([]byte) string { return "a value" }

// walker goes through all that can be read of a database.
type walker struct {
	ctx context.Context
	// visit takes what lies at a path and should be no bucket, and says what is wrong with it.
	visit  func(path []string, raw []byte) (fault, err error)
	issues []Issue
	steps  int64 // that the cursors may still take: damaged pages can lead in circles
}

func (w *walker) report(path []string, format string, args ...any) {
	issue := Issue{"file", "", fmt.Sprintf(format, args...)}
	if len(path) > 0 {
		issue.Key = fmt.Sprintf("%q", path)
	}
	if len(path) > 1 {
		if id, err := parseKey([]byte(path[1])); err == nil {
			issue.Where, issue.Key = id.String(), strings.Join(path[2:], " ")
		}
	}
	if len(w.issues) < maxIssues && !slices.Contains(w.issues, issue) {
		w.issues = append(w.issues, issue)
	}
}

// pages looks at the headers of all pages in use: none may claim to reach beyond the end of the file.
func (w *walker) pages(tx *bbolt.Tx) error {
	pages := int(tx.Size() / int64(tx.DB().Info().PageSize))
	for id := 0; id < pages; id++ {
		page, err := tx.Page(id)
		if err != nil {
			return err
		}
		if page.Type == "free" {
			continue // its header is an old one
		}
		if page.OverflowCount >= pages-id {
			w.report(nil, "page %d claims %d pages, the file ends after %d", id, page.OverflowCount+1, pages-id)
		}
		id += page.OverflowCount
	}
	return nil
}

func (w *walker) walk(tx *bbolt.Tx) error {
	w.steps = tx.Size()
	err := w.bucket(tx.Cursor().Bucket())
	if w.steps == 0 {
		w.report(nil, "its pages lead in circles")
	}
	return err
}

// bucket looks at all that is in a bucket and in the buckets inside it. Each key is also looked up, which reads the
// keys of the pages above. At a page that cannot be read it goes on from the bucket's other end.
func (w *walker) bucket(b *bbolt.Bucket, path ...string) error {
	for _, backwards := range []bool{false, true} {
		c, lookup := b.Cursor(), b.Cursor()
		first, next := c.First, c.Next
		if backwards {
			first, next = c.Last, c.Prev
		}
		fault, err := caught(func() error {
			for key, raw := first(); key != nil && w.steps > 0; key, raw = next() {
				w.steps--
				here := append(slices.Clip(path), string(key))
				if err := w.element(b, raw, here); err != nil {
					return err
				}
				if found, _ := lookup.Seek(key); !bytes.Equal(found, key) {
					w.report(here, "it is there and cannot be found")
				}
			}
			return w.ctx.Err()
		})
		if err != nil || fault == "" {
			return err
		}
		w.report(path, "a page is damaged: %s", fault)
	}
	return nil
}

// element looks at what lies at a path. Without raw it is a bucket of b; a bucket in an unknown place is an issue and
// not followed.
func (w *walker) element(b *bbolt.Bucket, raw []byte, path []string) error {
	if raw == nil && isBucket(path) {
		var child *bbolt.Bucket
		fault, _ := caught(func() error {
			child = b.Bucket([]byte(path[len(path)-1]))
			return nil
		})
		if child != nil {
			return w.bucket(child, path...)
		}
		w.report(path, "%s", cmp.Or(fault, "its bucket is there and cannot be found"))
		return nil
	}
	fault, err := w.visit(path, raw)
	if fault != nil {
		w.report(path, "%v", fault)
	}
	return err
}

func isBucket(path []string) bool {
	switch top := path[0]; {
	case len(path) == 2 && top == string(problemsBucket):
		_, err := parseKey([]byte(path[1]))
		return err == nil
	case len(path) == 3:
		return path[2] == string(trialsBucket) || path[2] == string(asideBucket)
	default:
		return len(path) == 1 && (top == string(problemsBucket) || top == string(aboutBucket))
	}
}

// checkValue checks what is not a bucket in its place; trials and winners carry a checksum.
func checkValue(path []string, raw []byte) error {
	inside := path[min(2, len(path)):]
	switch {
	case raw == nil:
		return errors.New("a bucket lies where none should be")
	case isBucket(path):
		return errors.New("a value lies where a bucket should be")
	case len(inside) == 2 && inside[0] == string(trialsBucket):
		var e Entry
		if err := decode(raw, &e); err != nil {
			return err
		}
		return belongs(inside[1], e.Provenance.Key())
	case len(inside) == 1 && inside[0] == string(updatedKey):
		return decode(raw, new(time.Time))
	case len(inside) == 2 && inside[0] == string(asideBucket), len(inside) == 1 && inside[0] == string(winnerKey):
		var w Winner
		if err := decode(raw, &w); err != nil {
			return err
		}
		if id, err := parseKey([]byte(path[1])); err != nil || w.Problem != id {
			return fmt.Errorf("it belongs to %s", w.Problem)
		}
		if len(inside) == 2 {
			return belongs(inside[1], string(w.asideKey()))
		}
	}
	return nil
}

// belongs is an error where a value is found under another key than its own.
func belongs(found, own string) error {
	if found != own {
		return fmt.Errorf("it belongs under the key %s", own)
	}
	return nil
}

// Repair copies every trial and winner that is whole into a new file, from a file that may be damaged. A value is whole
// if it decodes, has its checksum and lies under its own key. Repair tells what was copied and what was wrong. It only
// reads the old file. The new one appears complete or not at all; a file that is there is not replaced.
func Repair(ctx context.Context, path, to string) (tally Tally, issues []Issue, err error) {
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return tally, nil, fmt.Errorf("%s is there already; name a new file", to)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return tally, nil, &AbsentError{Path: path}
	}
	old := &file{path: path, options: Options{Wait: defaultWait, ReadOnly: true}, damagedList: true}
	from, err := old.openWaiting(ctx, true)
	if err != nil {
		return tally, nil, err
	}
	defer from.db.Close()
	err = assemble(to, func(part string) error {
		into, err := Open(ctx, part, Options{})
		if err != nil {
			return err
		}
		issues, err = copyWhole(ctx, from, into, &tally)
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

// copyWhole copies what is whole, and says what is not.
func copyWhole(ctx context.Context, o opened, into *Store, tally *Tally) ([]Issue, error) {
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
