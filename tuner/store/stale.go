package store

import (
	"slices"
	"time"
)

// Stale says which problems are to go, by the time of their last write.
type Stale struct {
	Before time.Time // those written before; zero: none for their age
	Bytes  int64     // that the others may take; what was written longest ago goes until they do
}

// choose picks those that go, what was written longest ago first.
func (rule Stale) choose(all []Summary) []Summary {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Summary) int { return a.UpdatedAt.Compare(b.UpdatedAt) })
	left := int64(0)
	for _, p := range all {
		left += p.Bytes
	}
	for i, p := range all {
		if !p.UpdatedAt.Before(rule.Before) && left <= rule.Bytes {
			return all[:i]
		}
		left -= p.Bytes
	}
	return all
}

// Stale returns what RemoveStale would remove.
func (s *Store) Stale(rule Stale) ([]Summary, error) {
	all, err := s.Problems()
	return rule.choose(all), err
}

// RemoveStale forgets problems by their last write and returns what was removed,
// in the order in which it went.
//
// The file stays as large as it was, and bbolt fills what is free in it. A smaller
// copy put in its place would not be safe: a process that opened the file before
// and waits for its lock would get it, and write its trials to a file without a
// name. Merging into a new cache gives a small one.
func (s *Store) RemoveStale(rule Stale) ([]Summary, error) { return s.removeChosen(rule.choose) }
