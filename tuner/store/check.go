package store

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"

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

// Check reads every value: each must decode, lie under the key that it belongs
// to, and be found by that key. When all is well so far, bbolt checks its pages
// too. Nothing may be written meanwhile.
func (s *Store) Check(ctx context.Context) ([]Issue, error) {
	c := &checker{ctx: ctx}
	err := s.view(func(tx *bbolt.Tx) error { return errors.Join(c.overflows(tx), c.top(tx)) })
	if err == nil && len(c.issues) == 0 {
		// Only now: bbolt's own check follows what it finds on a goroutine of
		// its own, where touching memory that is not there ends the program.
		err = s.view(c.pages)
	}
	var damaged *DamagedError
	if errors.As(err, &damaged) {
		c.add("file", "", errors.New(damaged.Detail))
		err = nil
	}
	return c.issues, err
}

type checker struct {
	ctx    context.Context
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

// each calls f with all that a bucket holds: a value, or a bucket and no value.
// Keys must ascend, so that a walk in circles ends, and bbolt must find each of
// them, which it does only if the keys of the pages above are right.
func (c *checker) each(b *bbolt.Bucket, f func(key, value []byte, child *bbolt.Bucket) error) error {
	var last []byte
	return b.ForEach(func(key, value []byte) error {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		child := b.Bucket(key)
		switch {
		case last != nil && bytes.Compare(last, key) >= 0:
			return &DamagedError{Detail: fmt.Sprintf("key %q follows %q", key, last)}
		case child == nil && b.Get(key) == nil:
			return &DamagedError{Detail: fmt.Sprintf("key %q is there and cannot be found", key)}
		}
		last = key
		return f(key, value, child)
	})
}

// top checks the buckets at the top of the file. A bucket in an unknown place is
// an issue wherever it is, and not followed.
func (c *checker) top(tx *bbolt.Tx) error {
	return c.each(tx.Cursor().Bucket(), func(key, _ []byte, child *bbolt.Bucket) error {
		switch {
		case child != nil && bytes.Equal(key, problemsBucket):
			return c.each(child, c.problem)
		case child != nil && bytes.Equal(key, aboutBucket):
			return c.each(child, func(key, _ []byte, child *bbolt.Bucket) error {
				if child != nil {
					c.add("file", string(key), errBucket)
				}
				return nil
			})
		}
		c.add("file", fmt.Sprintf("%q", key), errors.New("it is not autotune's"))
		return nil
	})
}

var errBucket = errors.New("a bucket lies where a value should be")

func (c *checker) problem(key, _ []byte, problem *bbolt.Bucket) error {
	id, err := parseKey(key)
	if err != nil {
		c.add("file", hex.EncodeToString(key), err)
		return nil
	}
	if problem == nil {
		c.add(id.String(), "", errors.New("a value lies where its trials should be"))
		return nil
	}
	return c.each(problem, func(key, raw []byte, child *bbolt.Bucket) error {
		switch {
		case child != nil && bytes.Equal(key, trialsBucket):
			return c.each(child, func(key, raw []byte, child *bbolt.Bucket) error {
				c.value(id, "trial "+string(key), child, checkTrial(string(key), raw))
				return nil
			})
		case bytes.Equal(key, winnerKey):
			c.value(id, "winner", child, checkWinner(id, raw))
		default:
			c.value(id, string(key), child, nil)
		}
		return nil
	})
}

// value adds what is wrong with a value, above all that it is a bucket.
func (c *checker) value(id ProblemID, key string, child *bbolt.Bucket, err error) {
	if child != nil {
		err = errBucket
	}
	if err != nil {
		c.add(id.String(), key, err)
	}
}

func checkTrial(key string, raw []byte) error {
	var e Entry
	err := decode(raw, &e)
	if err == nil && e.Provenance.Key() != key {
		err = fmt.Errorf("it belongs under the key %s", e.Provenance.Key())
	}
	return err
}

func checkWinner(id ProblemID, raw []byte) error {
	var w Winner
	err := decode(raw, &w)
	if err == nil && w.Problem != id {
		err = fmt.Errorf("it belongs to %s", w.Problem)
	}
	return err
}

// pages runs bbolt's own check of its pages.
func (c *checker) pages(tx *bbolt.Tx) error {
	// The channel must be read to its end, or its goroutine would stay.
	for err := range tx.Check() {
		c.add("file", "", err)
	}
	return c.ctx.Err()
}
