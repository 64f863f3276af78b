package store

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"autotune/device/trial"
)

var (
	aboutBucket    = []byte("autotune") // contains schemaKey
	problemsBucket = []byte("problems") // contains a bucket for each problem
	schemaKey      = []byte("schema")
)

// The bucket of a problem contains values under the keys "trials", "winner" and "updated".
var (
	trialsBucket = []byte("trials")  // maps Provenance.Key() to Entry
	winnerKey    = []byte("winner")  // holds a Winner
	updatedKey   = []byte("updated") // holds the time of the last write
)

// Entry is a trial with its provenance.
type Entry struct {
	Provenance Provenance  `json:"provenance"`
	Trial      trial.Trial `json:"trial"`
}

// Winner is the variant that a search chose for a problem.
type Winner struct {
	Problem    ProblemID       `json:"problem"` // set by PutWinner
	Provenance Provenance      `json:"provenance"`
	TimeMS     float64         `json:"time_ms"` // median
	Result     json.RawMessage `json:"result"`  // the whole result, in its writer's format
}

// at returns the time at which the search that chose the winner ended, or the zero time if the winner's result does not
// contain it.
func (w Winner) at() time.Time {
	var result struct {
		At time.Time `json:"at"`
	}
	_ = json.Unmarshal(w.Result, &result)
	return result.At
}

type Summary struct {
	ProblemID
	Trials    int       `json:"trials"`
	WinnerMS  float64   `json:"winner_ms,omitempty"` // 0: no winner yet
	UpdatedAt time.Time `json:"updated_at"`
	Bytes     int64     `json:"bytes"` // size in the file
}

// sumSize is the length of the checksum that precedes the JSON of every value.
const sumSize = 4

var sumTable = crc32.MakeTable(crc32.Castagnoli)

func encode(v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	raw := binary.BigEndian.AppendUint32(make([]byte, 0, sumSize+len(body)), crc32.Checksum(body, sumTable))
	return append(raw, body...), nil
}

func decode(raw []byte, v any) error {
	if len(raw) < sumSize {
		return fmt.Errorf("it has %d bytes, fewer than a checksum", len(raw))
	}
	body := raw[sumSize:]
	if crc32.Checksum(body, sumTable) != binary.BigEndian.Uint32(raw) {
		return errors.New("its checksum does not match: bytes have changed on the disk")
	}
	if err := json.Unmarshal(body, v); err != nil {
		return err
	}
	if timed, ok := v.(interface{ checkTimes() error }); ok {
		return timed.checkTimes()
	}
	return nil
}

// checkTimes returns an error for an entry with impossible times: a trial of -1 ms would count as the fastest.
func (e *Entry) checkTimes() error { return checkTimes(&e.Trial) }

func (w *Winner) checkTimes() error {
	var result struct {
		Winner *trial.Trial `json:"winner"`
	}
	_ = json.Unmarshal(w.Result, &result) // the reader of Result reports its errors
	if err := trial.CheckMS(w.TimeMS); err != nil || result.Winner == nil {
		return err
	}
	return checkTimes(result.Winner)
}

func checkTimes(t *trial.Trial) error {
	if t.Status != trial.OK {
		return nil
	}
	return trial.CheckMS(append(slices.Clone(t.SamplesMS), t.Time.Median)...)
}

type problem struct {
	*bbolt.Bucket
	id   ProblemID
	path string // path of the file
}

// lookup decodes the value under a key in the bucket of a problem.
func lookup[T any](p problem, key []byte) (v T, found bool, err error) {
	raw := p.Get(key)
	if raw == nil {
		return v, false, nil
	}
	if err := decode(raw, &v); err != nil {
		return v, false, &DamagedError{p.path, fmt.Sprintf("%s of %s: %v", key, p.id, err)}
	}
	return v, true, nil
}

func (p problem) summary() (Summary, error) {
	pages := p.Stats()
	s := Summary{ProblemID: p.id, Bytes: int64(pages.BranchAlloc + pages.LeafAlloc + pages.InlineBucketInuse)}
	if trials := p.Bucket.Bucket(trialsBucket); trials != nil {
		s.Trials = trials.Stats().KeyN
	}
	w, _, err := lookup[Winner](p, winnerKey)
	if err != nil {
		return s, err
	}
	s.WinnerMS = w.TimeMS
	s.UpdatedAt, _, err = lookup[time.Time](p, updatedKey)
	return s, err
}

func (s *Store) summaries(tx *bbolt.Tx) (all []Summary, err error) {
	err = s.each(tx, func(p problem) error {
		summary, err := p.summary()
		all = append(all, summary)
		return err
	})
	return all, err
}

// each calls the function f for every problem, ordered by device and problem. If the file is empty and read-only, the
// store has no problems.
func (s *Store) each(tx *bbolt.Tx, f func(problem) error) error {
	problems := tx.Bucket(problemsBucket)
	if problems == nil {
		return nil
	}
	return problems.ForEachBucket(func(key []byte) error {
		id, err := parseKey(key)
		if err != nil {
			return &DamagedError{s.path, err.Error()}
		}
		return f(problem{problems.Bucket(key), id, s.path})
	})
}

func (s *Store) read(id ProblemID, f func(problem) error) error {
	key, err := id.key()
	if err != nil {
		return err
	}
	return s.view(func(tx *bbolt.Tx) error {
		if problems := tx.Bucket(problemsBucket); problems != nil && problems.Bucket(key) != nil {
			return f(problem{problems.Bucket(key), id, s.path})
		}
		return nil
	})
}

// Entries returns a problem's trials in the order in which they were evaluated, so that a resumed search is as
// repeatable as any other.
func (s *Store) Entries(id ProblemID) (all []Entry, err error) {
	err = s.read(id, func(p problem) error {
		trials := p.Bucket.Bucket(trialsBucket)
		if trials == nil {
			return nil
		}
		return trials.ForEach(func(_, raw []byte) error {
			var e Entry
			if err := decode(raw, &e); err != nil {
				return &DamagedError{s.path, fmt.Sprintf("a trial of %s: %v", id, err)}
			}
			all = append(all, e)
			return nil
		})
	})
	// A stable sort keeps trials with equal times in the order of their keys.
	slices.SortStableFunc(all, func(a, b Entry) int { return a.Trial.At.Compare(b.Trial.At) })
	return all, err
}

// Winner returns a problem's winner, or found=false if it has none.
func (s *Store) Winner(id ProblemID) (w Winner, found bool, err error) {
	err = s.read(id, func(p problem) error {
		w, found, err = lookup[Winner](p, winnerKey)
		return err
	})
	return w, found, err
}

// Winners returns the winners of all problems of an operator on a device, or on all devices if device is empty.
func (s *Store) Winners(operator, device string) (all []Winner, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		return s.each(tx, func(p problem) error {
			if p.id.Operator() != operator || device != "" && p.id.Device != device {
				return nil
			}
			w, found, err := lookup[Winner](p, winnerKey)
			if found {
				all = append(all, w)
			}
			return err
		})
	})
	return all, err
}

// Problems lists the stored problems, ordered by device and problem.
func (s *Store) Problems() (all []Summary, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		all, err = s.summaries(tx)
		return err
	})
	return all, err
}

// Remove deletes the chosen problems and returns their number. Remove chooses and deletes in one transaction, so that
// no trial of another search is added in between.
//
// Remove does not make the file smaller; bbolt reuses the pages that become free. Replacing the file by a smaller copy
// would not be safe: a process that has opened the old file and waits for its lock would write its trials to a deleted
// file. To get a smaller file, merge the cache into a new one.
func (s *Store) Remove(choose func(Summary) bool) (gone int, err error) {
	err = s.update(func(tx *bbolt.Tx) error {
		all, err := s.summaries(tx)
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(s Summary) bool { return !choose(s) })
		gone = len(all)
		for _, summary := range all {
			key, err := summary.key()
			if err := cmp.Or(err, tx.Bucket(problemsBucket).DeleteBucket(key)); err != nil {
				return err
			}
		}
		return nil
	})
	return gone, err
}

// contents holds all or some of the values that are stored for a problem.
type contents struct {
	id      ProblemID
	entries []Entry
	winner  *Winner
	updated time.Time
}

// PutTrials stores trials of a problem in one transaction: when it returns nil, all of them are on the disk. PutTrials
// replaces stored trials that have the same provenance.
func (s *Store) PutTrials(id ProblemID, entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	return s.put(contents{id: id, entries: entries, updated: time.Now().UTC()}, true, new(Tally))
}

// PutWinner stores the winner of a problem, and replaces an earlier winner of the problem.
func (s *Store) PutWinner(id ProblemID, w Winner) error {
	w.Problem = id
	return s.put(contents{id: id, winner: &w, updated: time.Now().UTC()}, true, new(Tally))
}

// Tally counts the trials and winners that a merge or a write added to a cache.
type Tally struct{ Problems, Trials, Winners int }

// mergeBatch is how many trials a merge adds in one transaction; the number is small, so that other processes can use
// the file between transactions.
const mergeBatch = 256

func (s *Store) add(ctx context.Context, c contents, tally *Tally) error {
	before := *tally
	for batch := range slices.Chunk(c.entries, mergeBatch) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.put(contents{id: c.id, entries: batch, updated: c.updated}, false, tally); err != nil {
			return err
		}
	}
	c.entries = nil // a winner must not be stored before its trials
	if err := cmp.Or(ctx.Err(), s.put(c, false, tally)); err != nil {
		return err
	}
	if *tally != before {
		tally.Problems++
	}
	return nil
}

// Merge copies trials and winners from another cache if this cache lacks them. If both caches have a winner for a
// problem, Merge keeps the newer winner. Damaged values of the other cache are not copied, and the error that Merge
// returns at the end reports them. Other processes may use both files during a merge, since a merge locks a file only
// for one problem or one batch of trials at a time. A merge that was killed can be repeated without harm.
func (s *Store) Merge(ctx context.Context, from *Store) (Tally, error) {
	var tally Tally
	if here, err := os.Stat(s.path); err != nil {
		return tally, unusable(s.path, err)
	} else if there, err := os.Stat(from.path); err != nil || os.SameFile(here, there) {
		return tally, cmp.Or(err, fmt.Errorf("%s and %s are one file", s.path, from.path))
	}
	left, err := s.merge(ctx, from, &tally)
	if err == nil && len(left) > 0 {
		err = &DamagedError{from.path, left[0].String()}
	}
	return tally, err
}

func (s *Store) merge(ctx context.Context, from *Store, tally *Tally) (left []Issue, err error) {
	var ids []ProblemID
	left, err = from.look(ctx, func(id ProblemID) bool { ids = append(ids, id); return false }, nil)
	for _, id := range ids {
		if err != nil {
			break
		}
		c := contents{id: id}
		var issues []Issue
		issues, err = from.look(ctx, func(other ProblemID) bool { return other == id }, c.take)
		left = append(left, issues...)
		err = cmp.Or(err, s.add(ctx, c, tally))
	}
	return left, err
}

func (c *contents) take(_ ProblemID, value any) {
	switch v := value.(type) {
	case *Entry:
		c.entries = append(c.entries, *v)
	case *Winner:
		c.winner = v
	case *time.Time:
		c.updated = *v
	}
}

// put stores contents in one transaction and counts what is new. put replaces values that the cache already stores only
// if `anew` is set.
func (s *Store) put(c contents, anew bool, tally *Tally) error {
	key, err := c.id.key()
	if err != nil {
		return err
	}
	counted := *tally // a failed transaction must not count
	err = s.update(func(tx *bbolt.Tx) error {
		bucket, err := tx.Bucket(problemsBucket).CreateBucketIfNotExists(key)
		if err != nil {
			return err
		}
		return problem{bucket, c.id, s.path}.put(c, anew, &counted)
	})
	var damaged *DamagedError
	if err != nil && !errors.As(err, &damaged) {
		return fmt.Errorf("write to the cache %s: %w", s.path, err)
	}
	if err == nil {
		*tally = counted
	}
	return err
}

func (p problem) put(c contents, anew bool, tally *Tally) error {
	trials, err := p.CreateBucketIfNotExists(trialsBucket)
	if err != nil {
		return err
	}
	for _, e := range c.entries {
		key := []byte(e.Provenance.Key())
		if !anew && trials.Get(key) != nil {
			continue
		}
		e.Trial.MaxAbsError = trial.Finite(e.Trial.MaxAbsError)
		if err := keep(trials, key, e); err != nil {
			return fmt.Errorf("trial of %s: %w", e.Trial.Template, err)
		}
		tally.Trials++
	}
	if c.winner != nil {
		last, found, err := lookup[Winner](p, winnerKey)
		if err != nil {
			return err
		}
		if anew || !found || c.winner.at().After(last.at()) {
			tally.Winners++
			if err := keep(p.Bucket, winnerKey, c.winner); err != nil {
				return err
			}
		}
	}
	last, _, err := lookup[time.Time](p, updatedKey)
	if err != nil || !anew && !c.updated.After(last) {
		return err
	}
	return keep(p.Bucket, updatedKey, c.updated)
}

func keep(in *bbolt.Bucket, key []byte, v any) error {
	raw, err := encode(v)
	if err != nil {
		return err
	}
	return in.Put(key, raw)
}
