package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"autotune/tuner/device"
	"autotune/tuner/devices"
	"autotune/tuner/operator"
)

// sideBySide searches many problems at once, one on each worker of a pool: so all are
// busy, no worker has more than one problem's tensors, and all times of a problem are of
// one device.
type sideBySide struct {
	*searchRun
	pool device.Pool
	show *manyProgress

	mu     sync.Mutex
	left   []searchProblem
	failed error
}

// sideBySide decides whether to; nil: one problem after another, each on all that is
// there. That is better where there are fewer problems than workers.
func (r *searchRun) sideBySide(problems []searchProblem) (*sideBySide, error) {
	if len(problems) < 2 || !r.opener.Several() {
		return nil, nil
	}
	opened, err := r.opener.Open(r.c.Context, problems[0].operator, problems[0].request)
	if err != nil {
		return nil, nil // searching it says why, and goes on with the others
	}
	pool, ok := opened.Device.(device.Pool)
	if !ok || len(pool.Workers()) < 2 || len(problems) < len(pool.Workers()) {
		return nil, nil
	}
	if opened.Notice != "" {
		say(os.Stderr, "autotune: "+opened.Notice)
	}
	return &sideBySide{searchRun: r, pool: pool, left: slices.Clone(problems), show: newManyProgress(r.c.Bool("quiet"), len(problems))}, nil
}

// all searches all of them. A problem whose worker goes is searched on by another, from
// what the cache has of it.
func (s *sideBySide) all(problems []searchProblem) error {
	if s == nil {
		return nil
	}
	var group sync.WaitGroup
	working := map[string]bool{}
	ended := make(chan string)
	for s.c.Context.Err() == nil && (s.waiting() > 0 || len(working) > 0) {
		for _, name := range s.pool.Workers() {
			if working[name] {
				continue
			}
			if w, ok := s.next(); ok {
				working[name] = true
				group.Go(func() {
					s.search(w, name)
					ended <- name
				})
			}
		}
		select {
		case name := <-ended:
			delete(working, name)
		case <-time.After(progressCheck):
			if len(working) == 0 && len(s.pool.Workers()) == 0 && s.waiting() > 0 {
				return withCode(exitDevice, fmt.Errorf("no worker is left, %d problems are not searched: %w", s.waiting(), device.ErrGone))
			}
		}
		s.show.print(false)
	}
	go func() {
		for range ended { // what ends now is waited for by the group
		}
	}()
	group.Wait()
	close(ended)
	s.show.print(true)
	if s.c.Context.Err() != nil {
		return withCode(exitInterrupted, fmt.Errorf("interrupted after %d of %d problems; the same command goes on from there", s.show.finished(), len(problems)))
	}
	return s.failed
}

const progressCheck = 20 * time.Second

func (s *sideBySide) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.left)
}

func (s *sideBySide) next() (searchProblem, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.left) == 0 {
		return searchProblem{}, false
	}
	w := s.left[0]
	s.left = s.left[1:]
	return w, true
}

// search searches one problem on one worker.
func (s *sideBySide) search(w searchProblem, worker string) {
	err := s.searchAt(w, worker)
	if errors.Is(err, device.ErrGone) && len(s.pool.Workers()) > 0 {
		s.mu.Lock()
		s.left = append([]searchProblem{w}, s.left...)
		s.mu.Unlock()
		return
	}
	if err == nil || errors.Is(err, context.Canceled) || s.c.Context.Err() != nil {
		return
	}
	fmt.Fprintln(os.Stderr, "autotune: "+explain(err))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = withCode(exitCode(err), errNotAll)
}

func (s *sideBySide) searchAt(w searchProblem, worker string) error {
	options, err := s.optionsFor(w)
	if err != nil {
		return err
	}
	s.searchRun.mu.Lock()
	opened, err := s.opener.Open(s.c.Context, w.operator, w.request)
	s.searchRun.mu.Unlock()
	if err != nil {
		return err
	}
	one := &devices.Opened{Device: s.pool.Worker(worker), Problem: opened.Problem}
	if known, err := s.again(one, options); known || err != nil {
		s.show.skip()
		return err
	}
	err = s.searchOn(w, one, options, s.show.of(w.label()))
	if !errors.Is(err, device.ErrGone) {
		s.show.finish(w.label())
	}
	return err
}

// label is a problem as a user has asked for it, briefly.
func (w searchProblem) label() string {
	return strings.TrimSpace(w.operator.Name + " " + operator.FormatShape(w.request.Shape))
}
