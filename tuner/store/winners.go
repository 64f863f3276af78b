package store

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// Winner is what a search chose for a problem.
type Winner struct {
	Problem    ProblemID       `json:"problem"` // filled in by PutWinner
	Provenance Provenance      `json:"provenance"`
	TimeMS     float64         `json:"time_ms"` // median
	Result     json.RawMessage `json:"result"`  // the whole result, as its writer wants it back
}

// PutWinner keeps a problem's winner in place of the one before.
func (s *Store) PutWinner(id ProblemID, w Winner) error {
	w.Problem = id
	raw, err := encode(w)
	if err != nil {
		return err
	}
	return s.write(id, func(problem *bbolt.Bucket) error { return problem.Put(winnerKey, raw) })
}

// Winner returns a problem's winner; false if it has none.
func (s *Store) Winner(id ProblemID) (Winner, bool, error) {
	var w Winner
	found := false
	err := s.read(id, func(problem *bbolt.Bucket) error {
		raw := problem.Get(winnerKey)
		if raw == nil {
			return nil
		}
		found = true
		return s.decodeWinner(id, raw, &w)
	})
	return w, found && err == nil, err
}

func (s *Store) decodeWinner(id ProblemID, raw []byte, w *Winner) error {
	if err := decode(raw, w); err != nil {
		return s.damage("the winner of %s: %v", id, err)
	}
	return nil
}

// Winners returns the winners of all problems of an operator on a device (any,
// if empty), for a search of a similar problem to start from.
func (s *Store) Winners(operator, device string) ([]Winner, error) {
	var all []Winner
	err := s.eachProblem(func(id ProblemID, problem *bbolt.Bucket) error {
		raw := problem.Get(winnerKey)
		if raw == nil || id.Operator() != operator || (device != "" && id.Device != device) {
			return nil
		}
		var w Winner
		if err := s.decodeWinner(id, raw, &w); err != nil {
			return err
		}
		all = append(all, w)
		return nil
	})
	return all, err
}

// Summary describes what is kept of a problem.
type Summary struct {
	ProblemID
	Trials    int       `json:"trials"`
	WinnerMS  float64   `json:"winner_ms,omitempty"` // 0: no winner yet
	UpdatedAt time.Time `json:"updated_at"`
}

// Problems lists what is kept, ordered by device and problem.
func (s *Store) Problems() ([]Summary, error) {
	var all []Summary
	err := s.eachProblem(func(id ProblemID, problem *bbolt.Bucket) error {
		summary, err := s.summarise(id, problem)
		all = append(all, summary)
		return err
	})
	return all, err
}

func (s *Store) summarise(id ProblemID, problem *bbolt.Bucket) (Summary, error) {
	summary := Summary{ProblemID: id}
	if raw := problem.Get(updatedKey); raw != nil {
		if err := decode(raw, &summary.UpdatedAt); err != nil {
			return summary, s.damage("the time of %s: %v", id, err)
		}
	}
	if raw := problem.Get(winnerKey); raw != nil {
		var w Winner
		if err := s.decodeWinner(id, raw, &w); err != nil {
			return summary, err
		}
		summary.WinnerMS = w.TimeMS
	}
	err := eachTrial(problem, func(string, []byte) error {
		summary.Trials++
		return nil
	})
	return summary, err
}

// Remove forgets the problems that match and returns what was removed.
func (s *Store) Remove(match func(Summary) bool) ([]Summary, error) {
	all, err := s.Problems()
	if err != nil {
		return nil, err
	}
	gone := slices.DeleteFunc(all, func(summary Summary) bool { return !match(summary) })
	if len(gone) == 0 {
		return nil, nil
	}
	err = s.update(func(tx *bbolt.Tx) error {
		for _, summary := range gone {
			key, err := summary.key()
			if err != nil {
				return err
			}
			err = tx.Bucket(problemsBucket).DeleteBucket(key)
			if err != nil && !errors.Is(err, bolterrors.ErrBucketNotFound) {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return gone, nil
}

func (s *Store) eachProblem(f func(id ProblemID, problem *bbolt.Bucket) error) error {
	return s.view(func(tx *bbolt.Tx) error {
		problems := tx.Bucket(problemsBucket)
		if problems == nil {
			return nil // an empty file, opened to read
		}
		return problems.ForEachBucket(func(key []byte) error {
			id, err := parseKey(key)
			if err != nil {
				return s.damage("%v", err)
			}
			return f(id, problems.Bucket(key))
		})
	})
}
