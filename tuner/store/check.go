package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"
)

type Issue struct {
	Where   string // the problem, or "file"
	Key     string // "" for all of it
	Message string
}

func (i Issue) String() string {
	if i.Key != "" {
		return fmt.Sprintf("%s, %s: %s", i.Where, i.Key, i.Message)
	}
	return fmt.Sprintf("%s: %s", i.Where, i.Message)
}

// maxIssues is the largest number of issues that one check reports.
const maxIssues = 1000

// CheckFile opens a file for reading and checks it. Check reports a file that is too damaged to be opened as an issue,
// not as an error.
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

// Check reads every value and checks that it can be decoded and belongs to its key; then bbolt checks its pages. No
// other process may write to the file during Check.
func (s *Store) Check(ctx context.Context) (issues []Issue, err error) {
	err = s.transact(ctx, true, func(o opened) (err error) {
		issues, err = check(ctx, o, true)
		return err
	})
	return issues, err
}

// look decodes the intact values of the wanted problems and passes them to `found`; it returns an issue for each
// damaged value.
func (s *Store) look(ctx context.Context, wanted func(ProblemID) bool, found func(ProblemID, any)) (issues []Issue, err error) {
	err = s.transact(ctx, true, func(o opened) error {
		return o.db.View(func(tx *bbolt.Tx) error {
			w := &walker{ctx: ctx, wanted: wanted, found: found, values: true, steps: tx.Size()}
			w.file(tx)
			issues = w.issues
			return ctx.Err()
		})
	})
	return issues, err
}

// check walks through a database, then lets bbolt check its pages. bbolt's check runs on a goroutine of its own, in
// which a memory fault would end the program. bbolt's own check runs only if the guarded walk found no issue, and
// prints no keys, since a damaged key may claim any length.
func check(ctx context.Context, o opened, values bool) ([]Issue, error) {
	w := &walker{ctx: ctx, values: values}
	err := o.db.View(func(tx *bbolt.Tx) error {
		w.steps = tx.Size()
		if err := w.pages(tx); err != nil {
			return err
		}
		if w.file(tx); len(w.issues) > 0 || ctx.Err() != nil {
			return ctx.Err()
		}
		// The loop over the errors of bbolt's check must not end early, or the goroutine that runs the check would
		// wait for ever.
		for err := range tx.Check(bbolt.WithKVStringer(unprinted{})) {
			w.report("file", "", "%v", err)
		}
		return ctx.Err()
	})
	return w.issues, err
}

type unprinted struct{}

func (unprinted) KeyToString([]byte) string   { return "a key" }
func (unprinted) ValueToString([]byte) string { return "a value" }

// walker visits all values of a database that can be read.
type walker struct {
	ctx    context.Context
	wanted func(ProblemID) bool // selects the problems to read; nil: all
	found  func(ProblemID, any) // receives each value: *Entry, *Winner or *time.Time; may be nil
	values bool                 // whether to decode and check values
	steps  int64                // steps left for cursors, since damaged pages can form cycles
	issues []Issue
}

func (w *walker) report(where, key, format string, args ...any) {
	if len(w.issues) < maxIssues {
		w.issues = append(w.issues, Issue{where, key, fmt.Sprintf(format, args...)})
	}
}

// pages checks the headers of all pages in use: no page may extend beyond the end of the file.
func (w *walker) pages(tx *bbolt.Tx) error {
	pages := int(tx.Size() / int64(tx.DB().Info().PageSize))
	for id := 0; id < pages; id++ {
		page, err := tx.Page(id)
		if err != nil {
			return err
		}
		if page.Type == "free" {
			continue // the header of a free page is out of date
		}
		if page.OverflowCount >= pages-id {
			w.report("file", "", "page %d claims %d pages, the file ends after %d", id, page.OverflowCount+1, pages-id)
		}
		id += page.OverflowCount
	}
	return nil
}

// each calls the function f for every key of a bucket. If a page cannot be read, the function reports an issue and
// skips the rest of the bucket. each also seeks every key, because only a seek reads the keys on the branch pages
// of bbolt's B+ tree.
func (w *walker) each(where string, open func() *bbolt.Bucket, f func(b *bbolt.Bucket, key, raw []byte)) {
	fault, err := caught(func() error {
		b := open()
		if b == nil {
			return errors.New("its bucket is there and cannot be found")
		}
		lookup := b.Cursor()
		return b.ForEach(func(key, raw []byte) error {
			if w.steps--; w.steps < 0 {
				return errors.New("its pages lead in circles")
			}
			if found, _ := lookup.Seek(key); !bytes.Equal(found, key) {
				w.report(where, "", "a value is there and cannot be found by its key")
			}
			f(b, key, raw)
			return w.ctx.Err()
		})
	})
	if fault != "" {
		w.report(where, "", "a page is damaged: %s", fault)
	} else if err != nil && w.ctx.Err() == nil {
		w.report(where, "", "%v", err)
	}
}

func (w *walker) file(tx *bbolt.Tx) {
	top := func() *bbolt.Bucket { return tx.Cursor().Bucket() }
	w.each("file", top, func(b *bbolt.Bucket, key, raw []byte) {
		switch {
		case string(key) == string(problemsBucket) && raw == nil:
			w.each("file", inside(b, key), w.problem)
		case string(key) != string(aboutBucket) || raw != nil:
			w.report("file", fmt.Sprintf("%q", key), "it does not belong here")
		}
	})
}

func inside(b *bbolt.Bucket, key []byte) func() *bbolt.Bucket {
	return func() *bbolt.Bucket { return b.Bucket(key) }
}

func (w *walker) problem(problems *bbolt.Bucket, key, raw []byte) {
	id, err := parseKey(key)
	switch {
	case err != nil || raw != nil:
		w.report("file", fmt.Sprintf("%q", key), "it is no problem's bucket")
		return
	case w.wanted != nil && !w.wanted(id):
		return
	}
	w.each(id.String(), inside(problems, key), func(b *bbolt.Bucket, key, raw []byte) {
		switch name := string(key); {
		case name == string(trialsBucket) && raw == nil:
			w.each(id.String(), inside(b, key), func(_ *bbolt.Bucket, key, raw []byte) {
				var e Entry
				w.value(id, "trials "+string(key), raw, &e, func() bool { return e.Provenance.Key() == string(key) })
			})
		case name == string(winnerKey):
			var v Winner
			w.value(id, name, raw, &v, func() bool { return v.Problem == id })
		case name == string(updatedKey):
			w.value(id, name, raw, new(time.Time), func() bool { return true })
		default:
			w.report(id.String(), fmt.Sprintf("%q", key), "it does not belong here")
		}
	})
}

// value decodes a value and checks that it belongs to its key.
func (w *walker) value(id ProblemID, key string, raw []byte, v any, belongs func() bool) {
	if !w.values {
		return
	}
	err := errors.New("a bucket lies where none should be")
	if raw != nil {
		err = decode(raw, v)
	}
	if err == nil && !belongs() {
		err = errors.New("it belongs under another key")
	}
	if err != nil {
		w.report(id.String(), key, "%v", err)
	} else if w.found != nil {
		w.found(id, v)
	}
}
