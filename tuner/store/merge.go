package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"autotune/tuner/trial"

	"go.etcd.io/bbolt"
)

// Merge takes over what another cache holds. A trial of a provenance that is known
// stays as it is. Of the winners of the same sources the newest is kept, and the
// newest of all is the problem's. Both caches may be in use meanwhile: each is held
// for one batch at a time, and one that is killed can be repeated.
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
		for after, more := "", true; more; {
			if ctx.Err() != nil {
				return tally, ctx.Err()
			}
			batch, err := from.trialPieces(p.ProblemID, after)
			if err != nil {
				return tally, err
			}
			if err := s.take(batch, &tally); err != nil {
				return tally, err
			}
			if more = len(batch) == pieceBatch; more {
				after = batch[len(batch)-1].key
			}
		}
		// Winners last: a winner never comes without its trials.
		rest, err := from.otherPieces(p.ProblemID)
		if err != nil {
			return tally, err
		}
		if err := s.take(rest, &tally); err != nil {
			return tally, err
		}
	}
	return tally, nil
}

// Add keeps trials of a problem that are not known yet, in batches as Merge does.
func (s *Store) Add(ctx context.Context, id ProblemID, entries []Entry) (Tally, error) {
	var tally Tally
	updated, err := encode(time.Now().UTC())
	if err != nil {
		return tally, err
	}
	for batch := range slices.Chunk(entries, pieceBatch) {
		pieces := []piece{{id: id, key: string(updatedKey), raw: updated}}
		for _, e := range batch {
			e.Trial.MaxAbsError = trial.Finite(e.Trial.MaxAbsError)
			raw, err := encode(e)
			if err != nil {
				return tally, fmt.Errorf("trial of %s: %w", e.Trial.Template, err)
			}
			pieces = append(pieces, piece{id, string(trialsBucket), e.Provenance.Key(), raw})
		}
		if err := errors.Join(ctx.Err(), s.take(pieces, &tally)); err != nil {
			return tally, err
		}
	}
	return tally, nil
}

// trialPieces returns the first trials after a key.
func (s *Store) trialPieces(id ProblemID, after string) (batch []piece, err error) {
	err = s.read(id, func(problem *bbolt.Bucket) error {
		trials := problem.Bucket(trialsBucket)
		if trials == nil {
			return nil
		}
		c := trials.Cursor()
		for key, raw := c.Seek([]byte(after)); key != nil && len(batch) < pieceBatch; key, raw = c.Next() {
			if string(key) == after {
				continue
			}
			if batch, err = s.pick(batch, id, raw, string(trialsBucket), string(key)); err != nil {
				return err
			}
		}
		return nil
	})
	return batch, err
}

// otherPieces returns the winners and the time of the last write.
func (s *Store) otherPieces(id ProblemID) (all []piece, err error) {
	err = s.read(id, func(problem *bbolt.Bucket) error {
		for _, key := range [][]byte{winnerKey, updatedKey} {
			if raw := problem.Get(key); raw != nil {
				if all, err = s.pick(all, id, raw, string(key)); err != nil {
					return err
				}
			}
		}
		aside := problem.Bucket(asideBucket)
		if aside == nil {
			return nil
		}
		return aside.ForEach(func(key, raw []byte) error {
			all, err = s.pick(all, id, raw, string(asideBucket), string(key))
			return err
		})
	})
	return all, err
}

// pick adds what lies under a path of a problem to the pieces, if it is whole.
func (s *Store) pick(all []piece, id ProblemID, raw []byte, inside ...string) ([]piece, error) {
	key, err := id.key()
	if err != nil {
		return all, err
	}
	path := slices.Concat([]string{string(problemsBucket), string(key)}, inside)
	if err := checkValue(path, raw, raw == nil); err != nil {
		return all, &DamagedError{s.path, fmt.Sprintf("%s of %s: %v", inside[0], id, err)}
	}
	p, _ := pieceOf(path, raw)
	return append(all, p), nil
}
