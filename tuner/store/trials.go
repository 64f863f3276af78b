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

// Trials returns a problem's trials by the keys of their provenances; none is no
// error.
func (s *Store) Trials(id ProblemID) (map[string]trial.Trial, error) {
	found := map[string]trial.Trial{}
	err := s.read(id, func(problem *bbolt.Bucket) error {
		return eachTrial(problem, func(key string, raw []byte) error {
			var e Entry
			if err := decode(raw, &e); err != nil {
				return s.damage("a trial of %s: %v", id, err)
			}
			found[key] = e.Trial
			return nil
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

func (s *Store) damage(format string, args ...any) error {
	return &DamagedError{Path: s.path, Detail: fmt.Sprintf(format, args...)}
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
	return s.view(func(tx *bbolt.Tx) error {
		problems := tx.Bucket(problemsBucket)
		if problems == nil {
			return nil // an empty file, opened to read
		}
		problem := problems.Bucket(key)
		if problem == nil {
			return nil
		}
		return f(problem)
	})
}
