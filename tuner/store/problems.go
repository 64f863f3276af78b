package store

import (
	"slices"
	"time"

	"go.etcd.io/bbolt"
)

// Summary describes what is kept of a problem.
type Summary struct {
	ProblemID
	Trials    int       `json:"trials"`
	WinnerMS  float64   `json:"winner_ms,omitempty"` // 0: no winner yet
	UpdatedAt time.Time `json:"updated_at"`
	Bytes     int64     `json:"bytes"` // that it takes in the file
}

// Problems lists what is kept, ordered by device and problem.
func (s *Store) Problems() (all []Summary, err error) {
	err = s.viewProblems(func(problems *bbolt.Bucket) error {
		all, err = s.summaries(problems)
		return err
	})
	return all, err
}

func (s *Store) summaries(problems *bbolt.Bucket) (all []Summary, err error) {
	err = s.eachOf(problems, func(id ProblemID, problem *bbolt.Bucket) error {
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
	pages := problem.Stats()
	summary.Bytes = int64(pages.BranchAlloc + pages.LeafAlloc + pages.InlineBucketInuse)
	return summary, eachTrial(problem, func(string, []byte) error {
		summary.Trials++
		return nil
	})
}

// Remove forgets the problems that match and returns what was removed.
func (s *Store) Remove(match func(Summary) bool) ([]Summary, error) {
	return s.removeChosen(func(all []Summary) []Summary {
		return slices.DeleteFunc(all, func(summary Summary) bool { return !match(summary) })
	})
}

// removeChosen forgets what is chosen of all problems. It looks and removes in one
// transaction, so that no trial of another search comes in between.
func (s *Store) removeChosen(choose func([]Summary) []Summary) (gone []Summary, err error) {
	err = s.update(func(tx *bbolt.Tx) error {
		problems := tx.Bucket(problemsBucket)
		all, err := s.summaries(problems)
		if err != nil {
			return err
		}
		gone = choose(all)
		for _, summary := range gone {
			key, err := summary.key()
			if err != nil {
				return err
			}
			if err := problems.DeleteBucket(key); err != nil {
				return err
			}
		}
		return nil
	})
	return gone, err
}

func (s *Store) eachProblem(f func(id ProblemID, problem *bbolt.Bucket) error) error {
	return s.viewProblems(func(problems *bbolt.Bucket) error { return s.eachOf(problems, f) })
}

func (s *Store) eachOf(problems *bbolt.Bucket, f func(id ProblemID, problem *bbolt.Bucket) error) error {
	return problems.ForEachBucket(func(key []byte) error {
		id, err := parseKey(key)
		if err != nil {
			return &DamagedError{s.path, err.Error()}
		}
		return f(id, problems.Bucket(key))
	})
}
