package store

import (
	"bytes"
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
	Sources    string          `json:"sources,omitempty"` // digest of the operator's kernels; caches of earlier versions have none
	TimeMS     float64         `json:"time_ms"`           // median
	Result     json.RawMessage `json:"result"`            // the whole result, as its writer wants it back
}

// asideKey is the key of a winner that is set aside.
func (w Winner) asideKey() []byte {
	if w.Sources == "" {
		return []byte("unknown")
	}
	return []byte(w.Sources)
}

// PutWinner keeps a problem's winner in place of the one before. A winner before
// it that is of other sources is set aside: it may be that of another folder
// with an operator of the same name.
func (s *Store) PutWinner(id ProblemID, w Winner) error {
	w.Problem = id
	raw, err := encode(w)
	if err != nil {
		return err
	}
	return s.write(id, func(problem *bbolt.Bucket) error {
		if err := s.setAside(id, problem, w); err != nil {
			return err
		}
		return problem.Put(winnerKey, raw)
	})
}

// setAside makes room for the next winner.
func (s *Store) setAside(id ProblemID, problem *bbolt.Bucket, next Winner) error {
	last, found, err := s.winner(id, problem)
	if err != nil || !found {
		return err
	}
	aside, err := problem.CreateBucketIfNotExists(asideBucket)
	if err != nil {
		return err
	}
	if err := aside.Delete(next.asideKey()); err != nil || last.Sources == next.Sources {
		return err
	}
	return aside.Put(last.asideKey(), bytes.Clone(problem.Get(winnerKey)))
}

// Winner returns a problem's winner; false if it has none.
func (s *Store) Winner(id ProblemID) (w Winner, found bool, err error) {
	err = s.read(id, func(problem *bbolt.Bucket) error {
		w, found, err = s.winner(id, problem)
		return err
	})
	return w, found, err
}

func (s *Store) winner(id ProblemID, problem *bbolt.Bucket) (w Winner, found bool, err error) {
	raw := problem.Get(winnerKey)
	if raw == nil {
		return w, false, nil
	}
	w, err = value[Winner](s, id, "the winner", raw)
	return w, err == nil, err
}

// Winners returns the winners of all problems of an operator on a device (any,
// if empty), for a search of a similar problem to start from.
func (s *Store) Winners(operator, device string) ([]Winner, error) {
	var all []Winner
	err := s.eachProblem(func(id ProblemID, problem *bbolt.Bucket) error {
		if id.Operator() != operator || (device != "" && id.Device != device) {
			return nil
		}
		w, found, err := s.winner(id, problem)
		if found {
			all = append(all, w)
		}
		return err
	})
	return all, err
}

// AllWinners returns the winners of all problems of an operator on all devices,
// those that were set aside too.
func (s *Store) AllWinners(operator string) ([]Winner, error) {
	all, err := s.Winners(operator, "")
	if err != nil {
		return nil, err
	}
	err = s.eachProblem(func(id ProblemID, problem *bbolt.Bucket) error {
		aside := problem.Bucket(asideBucket)
		if id.Operator() != operator || aside == nil {
			return nil
		}
		return aside.ForEach(func(_, raw []byte) error {
			w, err := value[Winner](s, id, "a winner", raw)
			all = append(all, w)
			return err
		})
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
	w, _, err := s.winner(id, problem)
	if err != nil {
		return summary, err
	}
	summary.WinnerMS = w.TimeMS
	if raw := problem.Get(updatedKey); raw != nil {
		if summary.UpdatedAt, err = value[time.Time](s, id, "the time", raw); err != nil {
			return summary, err
		}
	}
	return summary, eachTrial(problem, func(string, []byte) error {
		summary.Trials++
		return nil
	})
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
	return gone, s.update(func(tx *bbolt.Tx) error {
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
}

func (s *Store) eachProblem(f func(id ProblemID, problem *bbolt.Bucket) error) error {
	return s.viewProblems(func(problems *bbolt.Bucket) error {
		return problems.ForEachBucket(func(key []byte) error {
			id, err := parseKey(key)
			if err != nil {
				return &DamagedError{s.path, err.Error()}
			}
			return f(id, problems.Bucket(key))
		})
	})
}
