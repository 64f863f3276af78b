package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

// maxIssues bounds what a check tells: more would help nobody.
const maxIssues = 1000

// CheckFile opens a file to read and checks it. That it cannot be opened because
// it is damaged is an issue, not an error.
func CheckFile(ctx context.Context, path string) ([]Issue, error) {
	s, err := Open(ctx, path, Options{ReadOnly: true})
	var damaged *DamagedError
	if errors.As(err, &damaged) {
		return []Issue{{Where: "file", Message: damaged.Detail}}, nil
	}
	if err != nil {
		return nil, err
	}
	issues, err := s.Check(ctx)
	return issues, errors.Join(err, s.Close())
}

// Check reads every value: each must decode and lie under the key that it belongs
// to. bbolt then checks its pages. Nothing may be written meanwhile.
func (s *Store) Check(ctx context.Context) (issues []Issue, err error) {
	err = s.transact(ctx, true, func(o opened) error {
		issues = damagedRoots(o.file)
		more, err := check(ctx, o.db, checkValue)
		issues = append(issues, more...)
		return err
	})
	var damaged *DamagedError
	if errors.As(err, &damaged) {
		issues, err = append(issues, Issue{Where: "file", Message: damaged.Detail}), nil
	}
	return issues, err
}

// checkPages looks through a file before it is written to. bbolt believes a damaged
// list of free pages, and would write over trials that are whole.
func (s *Store) checkPages(db *bbolt.DB) error {
	issues, err := check(context.Background(), db, func([]string, []byte, bool) error { return nil })
	if err == nil && len(issues) > 0 {
		err = &DamagedError{s.path, issues[0].String()}
	}
	return err
}

// check walks through a database, has each value looked at, and lets bbolt check
// its pages. The order matters: bbolt's own check runs on a goroutine of its own,
// where touching memory that is not there ends the program. So it follows only what
// the guarded walk could follow.
func check(ctx context.Context, db *bbolt.DB, value valueCheck) ([]Issue, error) {
	c := &checker{ctx: ctx, value: value}
	err := db.View(func(tx *bbolt.Tx) error {
		err := errors.Join(c.overflows(tx), c.walk(tx.Cursor().Bucket()))
		if err == nil && len(c.issues) == 0 {
			err = c.pages(tx)
		}
		return err
	})
	return c.issues, err
}

// A valueCheck says what is wrong with what lies at a path and should be no bucket.
type valueCheck func(path []string, raw []byte, bucket bool) error

type checker struct {
	ctx    context.Context
	value  valueCheck
	issues []Issue
}

func (c *checker) add(where, key string, err error) {
	if len(c.issues) < maxIssues {
		c.issues = append(c.issues, Issue{where, key, err.Error()})
	}
}

// overflows sees that no page in use, the list of free ones included, claims to
// reach beyond the end of the file.
func (c *checker) overflows(tx *bbolt.Tx) error {
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
			c.add("file", fmt.Sprintf("page %d", id), fmt.Errorf("it claims %d pages, the file ends after %d", page.OverflowCount+1, pages-id))
		}
		id += page.OverflowCount
	}
	return nil
}

// walk looks at all that a bucket holds, and at what is in its buckets. Keys must
// ascend, so that a walk in circles ends. A bucket in an unknown place is an issue
// and not followed.
func (c *checker) walk(b *bbolt.Bucket, path ...string) error {
	var last []byte
	return b.ForEach(func(key, value []byte) error {
		child := b.Bucket(key)
		switch {
		case c.ctx.Err() != nil:
			return c.ctx.Err()
		case last != nil && bytes.Compare(last, key) >= 0:
			return &DamagedError{Detail: fmt.Sprintf("key %q follows %q", key, last)}
		}
		last = key
		here := append(slices.Clip(path), string(key))
		if child != nil && isBucket(here) {
			return c.walk(child, here...)
		}
		if err := c.value(here, value, child != nil); err != nil {
			where, key := place(here)
			c.add(where, key, err)
		}
		return nil
	})
}

// place names a path for people.
func place(path []string) (where, key string) {
	if len(path) > 1 {
		if id, err := parseKey([]byte(path[1])); err == nil {
			return id.String(), strings.Join(path[2:], " ")
		}
	}
	return "file", fmt.Sprintf("%q", path)
}

// isBucket says whether a bucket should be at a path.
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
func checkValue(path []string, raw []byte, bucket bool) error {
	switch {
	case bucket:
		return errors.New("a bucket lies where none should be")
	case isBucket(path):
		return errors.New("a value lies where a bucket should be")
	case len(path) == 4 && path[2] == string(asideBucket):
		return checkWinner(path[1], raw, path[3])
	case len(path) == 4:
		return checkTrial(path[3], raw)
	case len(path) == 3 && path[2] == string(winnerKey):
		return checkWinner(path[1], raw, "")
	case len(path) == 3 && path[2] == string(updatedKey):
		return decode(raw, new(time.Time))
	}
	return nil
}

func checkTrial(key string, raw []byte) error {
	var e Entry
	err := decode(raw, &e)
	if err == nil && e.Provenance.Key() != key {
		err = fmt.Errorf("it belongs under the key %s", e.Provenance.Key())
	}
	return err
}

// checkWinner checks a winner. One that is set aside has a key.
func checkWinner(problem string, raw []byte, aside string) error {
	var w Winner
	if err := decode(raw, &w); err != nil {
		return err
	}
	if key := string(w.asideKey()); aside != "" && key != aside {
		return fmt.Errorf("it belongs under the key %s", key)
	}
	if id, err := parseKey([]byte(problem)); err != nil || w.Problem != id {
		return fmt.Errorf("it belongs to %s", w.Problem)
	}
	return nil
}

// pages runs bbolt's own check of its pages.
func (c *checker) pages(tx *bbolt.Tx) error {
	// The channel must be read to its end, or its goroutine would stay.
	for err := range tx.Check() {
		c.add("file", "", err)
	}
	return c.ctx.Err()
}
