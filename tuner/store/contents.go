package store

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"autotune/device/trial"
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

// Winner is what a search chose for a problem.
type Winner struct {
	Problem    ProblemID       `json:"problem"` // filled in by PutWinner
	Provenance Provenance      `json:"provenance"`
	Sources    string          `json:"sources,omitempty"` // digest of the operator's kernels
	TimeMS     float64         `json:"time_ms"`           // median
	Result     json.RawMessage `json:"result"`            // the whole result, as its writer wants it back
}

func (w Winner) asideKey() []byte {
	if w.Sources == "" {
		return []byte("unknown")
	}
	return []byte(w.Sources)
}

// at is when the search ended that chose the winner, which every result tells; zero if it does not.
func (w Winner) at() time.Time {
	var result struct {
		At time.Time `json:"at"`
	}
	_ = json.Unmarshal(w.Result, &result)
	return result.At
}

// Summary describes what is kept of a problem.
type Summary struct {
	ProblemID
	Trials    int       `json:"trials"`
	WinnerMS  float64   `json:"winner_ms,omitempty"` // 0: no winner yet
	UpdatedAt time.Time `json:"updated_at"`
	Bytes     int64     `json:"bytes"` // that it takes in the file
}

// A value is JSON headed by the four bytes of its checksum.
const sumSize = 4

var sumTable = crc32.MakeTable(crc32.Castagnoli)

var errChecksum = errors.New("its checksum does not match: bytes have changed on the disk")

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
		return errChecksum
	}
	if err := json.Unmarshal(body, v); err != nil {
		return err
	}
	if timed, ok := v.(interface{ checkTimes() error }); ok {
		return timed.checkTimes()
	}
	return nil
}

// checkTimes refuses an entry whose times no launch takes. Whoever reads it would take a trial of -1 ms for the
// fastest.
func (e *Entry) checkTimes() error { return checkTimes(&e.Trial) }

func (w *Winner) checkTimes() error {
	var result struct {
		Winner *trial.Trial `json:"winner"`
	}
	_ = json.Unmarshal(w.Result, &result) // its reader says what it cannot read
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
	path string // of the file
}

// decoded is a value of a problem; what says in an error which it is.
func decoded[T any](p problem, what, raw []byte) (v T, err error) {
	if err := decode(raw, &v); err != nil {
		return v, &DamagedError{p.path, fmt.Sprintf("%s of %s: %v", what, p.id, err)}
	}
	return v, nil
}

func lookup[T any](p problem, in *bbolt.Bucket, key []byte) (v T, found bool, err error) {
	if raw := in.Get(key); raw != nil {
		v, err = decoded[T](p, key, raw)
		return v, err == nil, err
	}
	return v, false, nil
}

func (p problem) each(bucket []byte, f func(key, raw []byte) error) error {
	if b := p.Bucket.Bucket(bucket); b != nil {
		return b.ForEach(f)
	}
	return nil
}

func (p problem) winner() (Winner, bool, error) { return lookup[Winner](p, p.Bucket, winnerKey) }

func (p problem) summary() (Summary, error) {
	pages := p.Stats()
	s := Summary{ProblemID: p.id, Bytes: int64(pages.BranchAlloc + pages.LeafAlloc + pages.InlineBucketInuse)}
	if trials := p.Bucket.Bucket(trialsBucket); trials != nil {
		s.Trials = trials.Stats().KeyN
	}
	w, _, err := p.winner()
	if err != nil {
		return s, err
	}
	s.WinnerMS = w.TimeMS
	s.UpdatedAt, _, err = lookup[time.Time](p, p.Bucket, updatedKey)
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

// each runs f on every problem, ordered by device and problem. An empty file that is only to be read has no bucket of
// them.
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

// Trials returns a problem's trials by the keys of their provenances, those that are wanted by their heads (nil: all);
// none is no error. The others are not decoded.
func (s *Store) Trials(id ProblemID, wanted func(Head) bool) (map[string]trial.Trial, error) {
	found := map[string]trial.Trial{}
	err := s.read(id, func(p problem) error {
		return p.each(trialsBucket, func(key, raw []byte) error {
			if wanted != nil && !wanted(headOf(key, raw)) {
				return nil
			}
			e, err := decoded[Entry](p, []byte("a trial"), raw)
			found[string(key)] = e.Trial
			return err
		})
	})
	return found, err
}

// Entries returns a problem's trials with what each depends on.
func (s *Store) Entries(id ProblemID) (all []Entry, err error) {
	err = s.read(id, func(p problem) error {
		return p.each(trialsBucket, func(_, raw []byte) error {
			e, err := decoded[Entry](p, []byte("a trial"), raw)
			all = append(all, e)
			return err
		})
	})
	return all, err
}

// Winner returns a problem's winner; false if it has none.
func (s *Store) Winner(id ProblemID) (w Winner, found bool, err error) {
	err = s.read(id, func(p problem) error {
		w, found, err = p.winner()
		return err
	})
	return w, found, err
}

// Winners returns the winners of all problems of an operator on a device (any, if empty). Where it is wanted, those
// that were set aside for one follow it.
func (s *Store) Winners(operator, device string, aside bool) (all []Winner, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		return s.each(tx, func(p problem) error {
			if p.id.Operator() != operator || device != "" && p.id.Device != device {
				return nil
			}
			w, found, err := p.winner()
			if found {
				all = append(all, w)
			}
			if err != nil || !aside {
				return err
			}
			return p.each(asideBucket, func(_, raw []byte) error {
				w, err := decoded[Winner](p, asideBucket, raw)
				all = append(all, w)
				return err
			})
		})
	})
	return all, err
}

// Problems lists what is kept, ordered by device and problem.
func (s *Store) Problems() (all []Summary, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		all, err = s.summaries(tx)
		return err
	})
	return all, err
}

// Remove forgets the problems that are chosen of all, and returns what was removed. It looks and removes in one
// transaction, so that no trial of another search comes in between.
//
// The file stays as large as it was, and bbolt fills what is free in it. A smaller copy put in its place would not be
// safe: a process that opened the file before and waits for its lock would get it, and write its trials to a file
// without a name. Merging into a new cache gives a small one.
func (s *Store) Remove(choose func([]Summary) []Summary) (gone []Summary, err error) {
	err = s.update(func(tx *bbolt.Tx) error {
		all, err := s.summaries(tx)
		if err != nil {
			return err
		}
		gone = choose(all)
		for _, summary := range gone {
			key, err := summary.key()
			if err != nil {
				return err
			}
			if err := tx.Bucket(problemsBucket).DeleteBucket(key); err != nil {
				return err
			}
		}
		return nil
	})
	return gone, err
}
