package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"autotune/device/trial"
)

// pieceBatch is how many pieces go into one transaction: few enough that others get the file in between.
const pieceBatch = 256

type piece struct {
	id     ProblemID
	bucket string // trialsBucket, asideBucket, or none
	key    string
	raw    []byte
}

// pieceOf makes a piece of the value at a path of a file; false if that is not to be copied.
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

// entryPieces are the pieces of trials that are written now.
func entryPieces(id ProblemID, entries []Entry) ([]piece, error) {
	updated, err := encode(time.Now().UTC())
	pieces := []piece{{id: id, key: string(updatedKey), raw: updated}}
	for _, e := range entries {
		e.Trial.MaxAbsError = trial.Finite(e.Trial.MaxAbsError)
		raw, failure := encode(e)
		if failure != nil {
			return nil, fmt.Errorf("trial of %s: %w", e.Trial.Template, failure)
		}
		pieces = append(pieces, piece{id, string(trialsBucket), e.Provenance.Key(), raw})
	}
	return pieces, err
}

// PutTrials keeps trials of a problem, in one transaction: when it returns nil, all of them are on the disk. A trial of
// a known provenance takes the place of the one before.
func (s *Store) PutTrials(id ProblemID, entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	pieces, err := entryPieces(id, entries)
	if err != nil {
		return err
	}
	return s.take(pieces, true, new(Tally))
}

// PutWinner keeps a problem's winner in place of the one before. A winner before it that is of other sources is set
// aside: it may be that of another folder with an operator of the same name.
func (s *Store) PutWinner(id ProblemID, w Winner) error {
	w.Problem = id
	raw, err := encode(w)
	if err != nil {
		return err
	}
	pieces, err := entryPieces(id, nil)
	if err != nil {
		return err
	}
	return s.take(append(pieces, piece{id: id, key: string(winnerKey), raw: raw}), true, new(Tally))
}

// Merge takes over what another cache holds. A trial of a provenance that is known stays as it is. Of the winners of
// the same sources the newest is kept, and the newest of all is the problem's. Both caches may be in use meanwhile:
// each is held for one batch at a time, and one that is killed can be repeated.
func (s *Store) Merge(ctx context.Context, from *Store) (Tally, error) {
	var tally Tally
	if here, err := s.Stat(); err != nil {
		return tally, unusable(s.path, err)
	} else if there, err := from.Stat(); err != nil || os.SameFile(here, there) {
		return tally, errors.Join(err, fmt.Errorf("%s and %s are one file", s.path, from.path))
	}
	problems, err := from.Problems()
	if err != nil {
		return tally, err
	}
	for _, p := range problems {
		all, err := from.pieces(p.ProblemID)
		if err != nil {
			return tally, err
		}
		for batch := range slices.Chunk(all, pieceBatch) {
			if err := errors.Join(s.take(batch, false, &tally), ctx.Err()); err != nil {
				return tally, err
			}
		}
	}
	return tally, nil
}

// pieces are all that is kept of a problem. A winner never comes before its trials.
func (s *Store) pieces(id ProblemID) (all []piece, err error) {
	key, err := id.key()
	if err != nil {
		return nil, err
	}
	err = s.read(id, func(p problem) error {
		pick := func(bucket []byte) func(key, raw []byte) error {
			return func(inside, raw []byte) error {
				path := []string{string(problemsBucket), string(key), string(inside)}
				if bucket != nil {
					path = slices.Insert(path, 2, string(bucket))
				}
				if raw == nil {
					return nil // a bucket
				}
				if err := checkValue(path, raw); err != nil {
					return &DamagedError{s.path, fmt.Sprintf("%s of %s: %v", path[2], id, err)}
				}
				one, _ := pieceOf(path, raw)
				all = append(all, one)
				return nil
			}
		}
		return cmp.Or(p.each(trialsBucket, pick(trialsBucket)), p.ForEach(pick(nil)), p.each(asideBucket, pick(asideBucket)))
	})
	return all, err
}

// Tally counts what was taken into a cache.
type Tally struct {
	Problems, Trials, Winners int
	problems                  map[ProblemID]bool
}

func (t *Tally) count(p piece) {
	if t.problems == nil {
		t.problems = map[ProblemID]bool{}
	}
	t.problems[p.id] = true
	t.Problems = len(t.problems)
	if p.bucket == string(trialsBucket) {
		t.Trials++
	} else {
		t.Winners++
	}
}

// take stores complete pieces, in one transaction, and counts the new ones. Pieces marked as written anew replace known
// ones.
func (s *Store) take(pieces []piece, anew bool, tally *Tally) error {
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
			bucket, err := tx.Bucket(problemsBucket).CreateBucketIfNotExists(key)
			if err != nil {
				return err
			}
			isNew, err := problem{bucket, p.id, s.path}.take(p, anew)
			if err != nil {
				return err
			}
			if isNew && p.key != string(updatedKey) {
				taken.count(p)
			}
		}
		return nil
	})
	var damaged *DamagedError
	if err != nil && !errors.As(err, &damaged) {
		return fmt.Errorf("write to the cache %s: %w", s.path, err)
	}
	if err == nil {
		*tally = taken
	}
	return err
}

// take keeps a piece, if it is new here.
func (p problem) take(v piece, anew bool) (taken bool, err error) {
	switch {
	case v.bucket == string(trialsBucket):
		trials, err := p.CreateBucketIfNotExists(trialsBucket)
		if err != nil || !anew && trials.Get([]byte(v.key)) != nil {
			return false, err
		}
		return true, trials.Put([]byte(v.key), v.raw)
	case v.bucket == string(asideBucket) || v.key == string(winnerKey):
		return p.takeWinner(v.raw, anew)
	case v.key != string(updatedKey):
		return false, nil
	}
	next, err := decoded[time.Time](p, updatedKey, v.raw)
	if err != nil {
		return false, err
	}
	if last, found, err := lookup[time.Time](p, p.Bucket, updatedKey); !anew && (err != nil || found && !next.After(last)) {
		return false, err
	}
	return true, p.Put(updatedKey, v.raw)
}

// takeWinner keeps a winner if it is newer than the one of its sources. The newest of all is the problem's, as if the
// searches had been made here.
func (p problem) takeWinner(raw []byte, anew bool) (taken bool, err error) {
	next, err := decoded[Winner](p, winnerKey, raw)
	if err != nil {
		return false, err
	}
	last, found, err := p.winner()
	if err != nil {
		return false, err
	}
	if !found {
		return true, p.Put(winnerKey, raw)
	}
	aside, err := p.CreateBucketIfNotExists(asideBucket)
	if err != nil {
		return false, err
	}
	if anew || next.at().After(last.at()) {
		err := aside.Delete(next.asideKey())
		if next.Sources != last.Sources {
			err = errors.Join(err, aside.Put(last.asideKey(), bytes.Clone(p.Get(winnerKey))))
		}
		return true, errors.Join(err, p.Put(winnerKey, raw))
	}
	known, found, err := lookup[Winner](p, aside, next.asideKey())
	if err != nil || next.Sources == last.Sources || found && !next.at().After(known.at()) {
		return false, err
	}
	return true, aside.Put(next.asideKey(), raw)
}
