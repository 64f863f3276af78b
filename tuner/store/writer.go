package store

import (
	"errors"
	"sync"
	"time"
)

// When a Writer writes what it holds.
const (
	batchSize = 64
	batchTime = 200 * time.Millisecond
)

// Writer keeps a problem's trials as they arrive, many to a transaction, so that
// the one who measures does not wait for the disk at each. A process that is
// killed loses at most the last batchTime of them. It must be closed.
type Writer struct {
	store   *Store
	problem ProblemID

	mu      sync.Mutex
	pending []Entry
	err     error // the first failure to write
	closed  bool

	wake chan struct{} // something is pending, or the writer is closed
	full chan struct{} // a batch is, or the writer is closed
	done chan struct{}
}

// Writer starts a writer for a problem.
func (s *Store) Writer(id ProblemID) *Writer {
	w := &Writer{
		store: s, problem: id,
		wake: make(chan struct{}, 1), full: make(chan struct{}, 1), done: make(chan struct{}),
	}
	go w.run()
	return w
}

// Put takes a trial to be written soon. It returns the first error that writing
// met so far; Close returns it too.
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
	signal(w.wake)
	if len(w.pending) >= batchSize {
		signal(w.full)
	}
	return nil
}

// Close writes what is left and returns the first error that writing met.
func (w *Writer) Close() error {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		signal(w.full)
		signal(w.wake)
	}
	w.mu.Unlock()
	<-w.done
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// run writes a batch when one is full or its first trial has waited long enough.
func (w *Writer) run() {
	defer close(w.done)
	for {
		<-w.wake
		select {
		case <-w.full:
		case <-time.After(batchTime):
		}
		if w.flush() {
			return
		}
	}
}

// flush writes what is pending and tells whether nothing can follow.
func (w *Writer) flush() (last bool) {
	w.mu.Lock()
	batch := w.pending
	w.pending = nil
	last = w.closed
	w.mu.Unlock()
	if err := w.store.PutTrials(w.problem, batch); err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.err == nil {
			w.err = err
		}
	}
	return last
}

// signal leaves a token, if there is none yet.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
