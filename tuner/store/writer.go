package store

import (
	"cmp"
	"errors"
	"sync"
	"time"
)

// At how many trials, or after how long, a Writer writes them.
const (
	batchSize = 64
	batchTime = 200 * time.Millisecond
)

// Writer keeps a problem's trials as they arrive, many to a transaction, so that measuring does not wait for the disk
// at each. A process that is killed loses at most the last batchTime of them. It must be closed.
type Writer struct {
	store   *Store
	problem ProblemID
	writing sync.Mutex // held while a batch is written

	mu      sync.Mutex // of the fields below
	pending []Entry
	err     error // the first failure to write
	closed  bool
}

func (s *Store) Writer(id ProblemID) *Writer { return &Writer{store: s, problem: id} }

// Put takes a trial to be written when a batch is full, or soon. It returns the first error that writing met so far;
// Close returns it too.
func (w *Writer) Put(e Entry) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return errors.New("the cache's writer is closed")
	}
	if w.err != nil {
		return w.err
	}
	w.pending = append(w.pending, e)
	switch len(w.pending) {
	case 1:
		time.AfterFunc(batchTime, w.flush)
	case batchSize:
		go w.flush() // Close waits for it
	}
	return nil
}

// Close writes what is left and returns the first error that writing met.
func (w *Writer) Close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.flush()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func (w *Writer) flush() {
	w.writing.Lock()
	defer w.writing.Unlock()
	w.mu.Lock()
	batch := w.pending
	w.pending = nil
	w.mu.Unlock()
	err := w.store.PutTrials(w.problem, batch)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = cmp.Or(w.err, err)
}
