package store

import (
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"autotune/tuner/trial"
)

// Inside a problem's bucket.
var (
	trialsBucket = []byte("trials")  // Provenance.Key() -> Entry
	winnerKey    = []byte("winner")  // Winner
	asideBucket  = []byte("aside")   // Winner.asideKey() -> Winner, of other sources than the winner
	updatedKey   = []byte("updated") // time of the last write
)

// Entry is a trial and all that its outcome depends on.
type Entry struct {
	Provenance Provenance  `json:"provenance"`
	Trial      trial.Trial `json:"trial"`
}

// PutTrials keeps trials of a problem, in one transaction: when it returns nil,
// all of them are on the disk. A trial of a known provenance takes the place of
// the one before.
func (s *Store) PutTrials(id ProblemID, entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	return s.write(id, func(problem *bbolt.Bucket) error {
		trials, err := problem.CreateBucketIfNotExists(trialsBucket)
		if err != nil {
			return err
		}
		for _, e := range entries {
			e.Trial.MaxAbsError = trial.Finite(e.Trial.MaxAbsError)
			raw, err := encode(e)
			if err != nil {
				return fmt.Errorf("trial of %s: %w", e.Trial.Template, err)
			}
			if err := trials.Put([]byte(e.Provenance.Key()), raw); err != nil {
				return err
			}
		}
		return nil
	})
}

// Trials returns a problem's trials by the keys of their provenances, less those
// that are known; none is no error.
func (s *Store) Trials(id ProblemID, known func(key string) bool) (map[string]trial.Trial, error) {
	found := map[string]trial.Trial{}
	err := s.read(id, func(problem *bbolt.Bucket) error {
		return eachTrial(problem, func(key string, raw []byte) error {
			if known != nil && known(key) {
				return nil
			}
			e, err := value[Entry](s, id, "a trial", raw)
			found[key] = e.Trial
			return err
		})
	})
	return found, err
}

func eachTrial(problem *bbolt.Bucket, f func(key string, raw []byte) error) error {
	trials := problem.Bucket(trialsBucket)
	if trials == nil {
		return nil
	}
	return trials.ForEach(func(key, raw []byte) error { return f(string(key), raw) })
}

// value decodes a value of a problem; what says in an error which it is.
func value[T any](s *Store, id ProblemID, what string, raw []byte) (T, error) {
	var v T
	if err := decode(raw, &v); err != nil {
		return v, &DamagedError{s.path, fmt.Sprintf("%s of %s: %v", what, id, err)}
	}
	return v, nil
}

// write runs f on a problem's bucket, which is made if there is none.
func (s *Store) write(id ProblemID, f func(problem *bbolt.Bucket) error) error {
	key, err := id.key()
	if err != nil {
		return err
	}
	err = s.update(func(tx *bbolt.Tx) error {
		problem, err := tx.Bucket(problemsBucket).CreateBucketIfNotExists(key)
		if err != nil {
			return err
		}
		updated, err := encode(time.Now().UTC())
		if err != nil {
			return err
		}
		if err := problem.Put(updatedKey, updated); err != nil {
			return err
		}
		return f(problem)
	})
	var damaged *DamagedError
	if err == nil || errors.As(err, &damaged) {
		return err
	}
	return fmt.Errorf("write to the cache %s: %w", s.path, err)
}

// read runs f on a problem's bucket, if there is one.
func (s *Store) read(id ProblemID, f func(problem *bbolt.Bucket) error) error {
	key, err := id.key()
	if err != nil {
		return err
	}
	return s.viewProblems(func(problems *bbolt.Bucket) error {
		if problem := problems.Bucket(key); problem != nil {
			return f(problem)
		}
		return nil
	})
}

// viewProblems runs f on the bucket of all problems, which an empty file that is
// only to be read does not have.
func (s *Store) viewProblems(f func(problems *bbolt.Bucket) error) error {
	return s.view(func(tx *bbolt.Tx) error {
		if problems := tx.Bucket(problemsBucket); problems != nil {
			return f(problems)
		}
		return nil
	})
}
