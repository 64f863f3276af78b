package tuner

import (
	"fmt"
	"os"
	"slices"
	"time"
)

// How a search waits for another one that evaluates what it lacks.
const (
	lookInterval = 50 * time.Millisecond
	mostWaiting  = 20 * time.Second // without news; then it does without
)

// sharing is what a search knows of others that use the same store. Only the
// search's loop touches it.
type sharing struct {
	known   map[string]bool // keys of trials that the account has
	claimed []string        // keys
	theirs  []int64         // configurations that another search claims
	seen    os.FileInfo     // the store's file when it was last read
	news    time.Time       // when another's trial last came
}

// shares tells whether trials of other searches count.
func (s *search) shares() bool { return s.Store != nil && !s.Fresh }

func (s *search) keyOf(id int64) (string, error) {
	k, err := s.problem.Kernel(s.space.At(id))
	if err != nil {
		return "", err
	}
	return s.provenanceFor(k.Digest()).Key(), nil
}

// claim decides whether a configuration is this search's to evaluate. If another
// search evaluates it now, or has done so meanwhile, it is not.
func (s *search) claim(id int64) bool {
	if !s.shares() {
		return true
	}
	key, err := s.keyOf(id)
	if err != nil {
		return true // preparing it says why
	}
	mine, err := s.Store.Claim(key)
	if err != nil {
		s.lose(fmt.Errorf("claim a configuration in the cache: %w", err))
		return false
	}
	if !mine {
		s.begin(id)
		s.theirs = append(s.theirs, id)
		return false
	}
	s.claimed = append(s.claimed, key)
	if err := s.catchUp(); err != nil {
		s.lose(err)
	}
	return !s.known[key]
}

// release gives up all claims: what was evaluated is in the store by now, and the
// rest is for others.
func (s *search) release() {
	for _, key := range s.claimed {
		s.Store.Release(key)
	}
}

// catchUp enters the trials that other searches have added to the store.
func (s *search) catchUp() error {
	if !s.shares() {
		return nil
	}
	info, err := s.Store.Stat()
	if err == nil && s.seen != nil && info.ModTime().Equal(s.seen.ModTime()) && info.Size() == s.seen.Size() {
		return nil
	}
	s.seen = info
	return s.recollect()
}

// recollect enters what the store has of this very problem, device, compiler and
// protocol, and the account has not.
func (s *search) recollect() error {
	kept, err := s.Store.Trials(s.id, func(key string) bool { return s.known[key] })
	if err != nil {
		return fmt.Errorf("read the cache: %w", err)
	}
	for _, key := range inOrder(kept) {
		s.known[key] = true
		t := kept[key]
		if s.provenanceFor(t.KernelDigest).Key() != key {
			continue // of another driver, compiler or protocol
		}
		if id, ok := s.indexOf(t); ok && s.free(id) {
			t.Configuration = s.space.At(id) // with today's order and types
			s.begin(id)
			s.resumed++
			s.news = time.Now()
			s.strategy.Tell(id, s.enter(id, t))
		}
	}
	return nil
}

// free tells whether a configuration is not this search's own: it was not begun,
// or was left to another search.
func (s *search) free(id int64) bool {
	if s.begun[id] == 0 {
		return true
	}
	at := slices.Index(s.theirs, id)
	if at < 0 {
		return false
	}
	s.theirs = slices.Delete(s.theirs, at, at+1)
	return true
}

// takeOver is a configuration that was left to a search which has ended without
// it.
func (s *search) takeOver() (int64, bool) {
	if err := s.catchUp(); err != nil {
		s.lose(err)
	}
	left := s.theirs
	s.theirs = nil
	for i, id := range left {
		if s.claim(id) {
			s.theirs = append(s.theirs, left[i+1:]...)
			return id, true
		}
	}
	return 0, false
}

// waitsForOthers tells whether another search still evaluates what this one
// lacks.
func (s *search) waitsForOthers() bool {
	if len(s.theirs) == 0 {
		return false
	}
	if s.news.IsZero() {
		s.news = time.Now()
	}
	return time.Since(s.news) < mostWaiting
}
