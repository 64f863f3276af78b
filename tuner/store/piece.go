package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"go.etcd.io/bbolt"
)

// pieceBatch is how many pieces go into one transaction: few enough that others
// get the file in between.
const pieceBatch = 256

// piece is one value of a problem, as it lies in a file.
type piece struct {
	id     ProblemID
	bucket string // trialsBucket, asideBucket, or none
	key    string
	raw    []byte
}

// pieceOf makes a piece of the value that lies at a path of a file; false if it is
// none that can be taken over.
func pieceOf(path []string, raw []byte) (piece, bool) {
	if len(path) < 3 || path[0] != string(problemsBucket) {
		return piece{}, false
	}
	id, err := parseKey([]byte(path[1]))
	p := piece{id: id, key: path[len(path)-1], raw: bytes.Clone(raw)}
	if len(path) == 4 {
		p.bucket = path[2]
	}
	return p, err == nil
}

// Tally counts what was taken into a cache.
type Tally struct {
	Problems, Trials, Winners int
	problems                  map[ProblemID]bool
}

func (t *Tally) count(id ProblemID, trials, winners int) {
	if t.problems == nil {
		t.problems = map[ProblemID]bool{}
	}
	t.problems[id] = true
	t.Problems, t.Trials, t.Winners = len(t.problems), t.Trials+trials, t.Winners+winners
}

// take takes whole pieces of another file, in one transaction, and counts what is
// new here.
func (s *Store) take(pieces []piece, tally *Tally) error {
	if len(pieces) == 0 {
		return nil
	}
	taken := *tally // that of a transaction that fails does not count
	err := s.update(func(tx *bbolt.Tx) error {
		for _, p := range pieces {
			key, err := p.id.key()
			if err != nil {
				return err
			}
			problem, err := tx.Bucket(problemsBucket).CreateBucketIfNotExists(key)
			if err != nil {
				return err
			}
			if err := s.takeOne(problem, p, &taken); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write to the cache %s: %w", s.path, err)
	}
	*tally = taken
	return nil
}

func (s *Store) takeOne(problem *bbolt.Bucket, p piece, tally *Tally) error {
	switch {
	case p.bucket == string(trialsBucket):
		return takeTrial(problem, p, tally)
	case p.bucket == string(asideBucket) || p.key == string(winnerKey):
		return s.takeWinner(problem, p, tally)
	case p.key == string(updatedKey):
		return s.takeUpdated(problem, p)
	}
	return nil
}

// takeTrial keeps a trial, unless one of its provenance is kept already.
func takeTrial(problem *bbolt.Bucket, p piece, tally *Tally) error {
	trials, err := problem.CreateBucketIfNotExists(trialsBucket)
	if err != nil || trials.Get([]byte(p.key)) != nil {
		return err
	}
	tally.count(p.id, 1, 0)
	return trials.Put([]byte(p.key), p.raw)
}

// takeWinner keeps a winner if it is newer than the one of its sources. The newest
// of all is the problem's, as if the searches had been made here.
func (s *Store) takeWinner(problem *bbolt.Bucket, p piece, tally *Tally) error {
	next, err := value[Winner](s, p.id, "a winner", p.raw)
	if err != nil {
		return err
	}
	last, found, err := s.winner(p.id, problem)
	if err != nil {
		return err
	}
	if !found || next.at().After(last.at()) {
		tally.count(p.id, 0, 1)
		if err := s.setAside(p.id, problem, next); err != nil {
			return err
		}
		return problem.Put(winnerKey, p.raw)
	}
	if next.Sources == last.Sources {
		return nil
	}
	aside, err := problem.CreateBucketIfNotExists(asideBucket)
	if err != nil {
		return err
	}
	if raw := aside.Get(next.asideKey()); raw != nil {
		known, err := value[Winner](s, p.id, "a winner", raw)
		if err != nil || !next.at().After(known.at()) {
			return err
		}
	}
	tally.count(p.id, 0, 1)
	return aside.Put(next.asideKey(), p.raw)
}

// takeUpdated keeps the later time of a last write.
func (s *Store) takeUpdated(problem *bbolt.Bucket, p piece) error {
	next, err := value[time.Time](s, p.id, "the time", p.raw)
	if err != nil {
		return err
	}
	if raw := problem.Get(updatedKey); raw != nil {
		last, err := value[time.Time](s, p.id, "the time", raw)
		if err != nil || !next.After(last) {
			return err
		}
	}
	return problem.Put(updatedKey, p.raw)
}

// at is when the search ended that chose the winner, which every result tells;
// zero if it does not.
func (w Winner) at() time.Time {
	var result struct {
		At time.Time `json:"at"`
	}
	_ = json.Unmarshal(w.Result, &result)
	return result.At
}
