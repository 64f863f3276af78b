package store

import (
	"bytes"
	"encoding/json"

	"go.etcd.io/bbolt"
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
// if empty). A search of a similar problem starts from them.
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
