package store

import (
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

// maxIssues ends a check: more would tell nobody anything.
const maxIssues = 1000

// errEnough ends a walk after maxIssues.
var errEnough = errors.New("too many issues")

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

// Check follows the file's pages and reads every value: each must decode and lie
// under the key that it belongs to. When all is well so far, bbolt checks its
// pages too. Nothing may be written meanwhile.
func (s *Store) Check(ctx context.Context) ([]Issue, error) {
	c := &checker{ctx: ctx}
	err := s.view(func(tx *bbolt.Tx) error {
		if err := walkPages(s.file, tx); err != nil {
			return &DamagedError{Path: s.path, Detail: err.Error()}
		}
		return errors.Join(c.values(tx), c.spans(tx))
	})
	if err == nil && len(c.issues) == 0 {
		// Only now: bbolt's own check trusts what was looked at before.
		err = s.view(c.pages)
	}
	var damaged *DamagedError
	switch {
	case errors.As(err, &damaged):
		c.issues = append(c.issues, Issue{Where: "file", Message: damaged.Detail})
	case err != nil && !errors.Is(err, errEnough):
		return c.issues, err
	}
	return c.issues, nil
}

type checker struct {
	ctx    context.Context
	issues []Issue
}

func (c *checker) add(where, key string, err error) error {
	c.issues = append(c.issues, Issue{where, key, err.Error()})
	if len(c.issues) >= maxIssues {
		return errEnough
	}
	return nil
}

func (c *checker) values(tx *bbolt.Tx) error {
	problems := tx.Bucket(problemsBucket)
	if problems == nil {
		return nil
	}
	return problems.ForEach(func(key, value []byte) error {
		id, err := parseKey(key)
		if err != nil {
			return c.add("file", hex.EncodeToString(key), err)
		}
		problem := problems.Bucket(key)
		if problem == nil {
			return c.add(id.String(), "", errors.New("a value lies where its trials should be"))
		}
		return c.problem(id, problem)
	})
}

func (c *checker) problem(id ProblemID, problem *bbolt.Bucket) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	if raw := problem.Get(winnerKey); raw != nil {
		var w Winner
		err := decode(raw, &w)
		if err == nil && w.Problem != id {
			err = fmt.Errorf("it belongs to %s", w.Problem)
		}
		if err != nil {
			if err := c.add(id.String(), "winner", err); err != nil {
				return err
			}
		}
	}
	return eachTrial(problem, func(key string, raw []byte) error {
		var e Entry
		err := decode(raw, &e)
		if err == nil && e.Provenance.Key() != key {
			err = fmt.Errorf("it belongs under the key %s", e.Provenance.Key())
		}
		if err != nil {
			return c.add(id.String(), "trial "+key, err)
		}
		return c.ctx.Err()
	})
}

// spans sees that no page in use, the list of free ones included, claims to reach
// beyond the end of the file.
func (c *checker) spans(tx *bbolt.Tx) error {
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
			err := fmt.Errorf("it claims %d pages, the file ends after %d", page.OverflowCount+1, pages-id)
			return c.add("file", fmt.Sprintf("page %d", id), err)
		}
		id += page.OverflowCount
	}
	return nil
}

// pages runs bbolt's own check of its pages.
func (c *checker) pages(tx *bbolt.Tx) error {
	var enough error
	// The channel must be read to its end, or its goroutine would stay.
	for err := range tx.Check() {
		if enough == nil {
			enough = c.add("file", "", err)
		}
	}
	if enough != nil {
		return enough
	}
	return c.ctx.Err()
}
