package store

import (
	"cmp"
	"errors"
	"sync"
	"time"
)

// A Writer writes its trials when it has batchSize of them, or after batchTime.
const (
	batchSize = 64
	batchTime = 200 * time.Millisecond
)

// Writer stores a problem's trials as they arrive, many in each transaction, so that measuring does not wait for the
// disk. A process that is killed loses at most the trials of the last interval batchTime. The caller must close a
// Writer.
type Writer struct {
	store   *Store
	problem ProblemID
	writing sync.Mutex // locked while a batch is written

	mu      sync.Mutex // protects the fields below
	pending []Entry
	err     error // the first error of writing
	closed  bool
}

func (s *Store) Writer(id ProblemID) *Writer { return &Writer{store: s, problem: id} }

// Put queues a trial, which is written to the file when a batch is full or after batchTime. Put and Close return the
// first error that writing has caused so far.
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
		go w.flush() // Close waits for this flush
	}
	return nil
}

// Close writes the queued trials and returns the first error of writing.
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
