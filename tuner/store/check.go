package store

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
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

// CheckFile opens a file for reading and checks it. A file that is too damaged to be opened is an
// issue, not an error.
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

// Check reads every value: each must decode and lie under the key that it belongs
// to. bbolt then checks its pages. Nothing may be written meanwhile.
func (s *Store) Check(ctx context.Context) (issues []Issue, err error) {
	err = s.transact(ctx, true, func(o opened) error {
		issues = damagedRoots(o.file)
		more, err := check(ctx, o, checkValue)
		issues = append(issues, more...)
		return err
	})
	return issues, err
}

// check walks through a database, has each value looked at, and lets bbolt check
// its pages. The order matters: bbolt's own check runs on a goroutine of its own,
// where touching memory that is not there ends the program. So it follows only what
// the guarded walk could follow.
func check(ctx context.Context, o opened, fault func(path []string, raw []byte) error) ([]Issue, error) {
	w := &walker{ctx: ctx, visit: func(path []string, raw []byte) (error, error) { return fault(path, raw), nil }}
	err := o.db.View(func(tx *bbolt.Tx) error {
		if err := errors.Join(w.pages(tx, o.file), w.walk(tx)); err != nil || len(w.issues) > 0 {
			return err
		}
		// The channel must be read to its end, or its goroutine would stay.
		for err := range tx.Check() {
			w.report(nil, "%v", err)
		}
		return ctx.Err()
	})
	return w.issues, err
}

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

// pages looks at all pages in use, the list of free ones included. None may claim to reach
// beyond the end of the file, and no key or value in it to reach beyond its page.
func (w *walker) pages(tx *bbolt.Tx, file io.ReaderAt) error {
	size := int64(tx.DB().Info().PageSize)
	pages := int(tx.Size() / size)
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
		} else if at := outside(file, int64(id)*size, int64(page.OverflowCount+1)*size); at >= 0 {
			w.report(nil, "page %d: its entry %d claims to lie outside of it", id, at)
		}
		id += page.OverflowCount
	}
	return nil
}

// Where bbolt's pages have their type and counts.
const (
	pageHeader  = 16 // before the entries
	pageFlagsAt = 8
	pageCountAt = 10
	branchPage  = 1
	leafPage    = 2
	entrySize   = 16
)

// outside finds an entry of a page whose key or value does not lie in it; -1 without one. No
// cursor reads the keys of a branch page unless it seeks one; bbolt's own check does.
func outside(file io.ReaderAt, at, size int64) int {
	raw := make([]byte, pageHeader)
	if _, err := file.ReadAt(raw, at); err != nil {
		return 0
	}
	flags, count := binary.LittleEndian.Uint16(raw[pageFlagsAt:]), int(binary.LittleEndian.Uint16(raw[pageCountAt:]))
	if flags != branchPage && flags != leafPage {
		return -1
	}
	raw = make([]byte, count*entrySize)
	if _, err := file.ReadAt(raw, at+pageHeader); err != nil {
		return 0
	}
	for i := range count {
		entry := raw[i*entrySize:]
		word := func(n int) int64 { return int64(binary.LittleEndian.Uint32(entry[4*n:])) }
		end := pageHeader + int64(i)*entrySize
		if flags == branchPage {
			end += word(0) + word(1)
		} else {
			end += word(1) + word(2) + word(3)
		}
		if end > size {
			return i
		}
	}
	return -1
}

func (w *walker) walk(tx *bbolt.Tx) error {
	w.steps = tx.Size()
	err := w.bucket(tx.Cursor().Bucket())
	if w.steps == 0 {
		w.report(nil, "its pages lead in circles")
	}
	return err
}

// bucket looks at all that is in a bucket and in the buckets inside it. At a page
// that cannot be read it goes on from the bucket's other end.
func (w *walker) bucket(b *bbolt.Bucket, path ...string) error {
	for _, backwards := range []bool{false, true} {
		c := b.Cursor()
		first, next := c.First, c.Next
		if backwards {
			first, next = c.Last, c.Prev
		}
		fault, err := caught(func() error {
			for key, raw := first(); key != nil && w.steps > 0; key, raw = next() {
				w.steps--
				if err := w.element(b, raw, append(slices.Clip(path), string(key))); err != nil {
					return err
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

// element looks at what lies at a path. Without raw it is a bucket of b; one in an
// unknown place is an issue and not followed.
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

// checkValue checks what is not a bucket in its place; trials and winners carry a
// checksum.
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
