package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"autotune/tuner"
)

// manyProgress shows how several searches go: a line every few seconds, with an ETA.
type manyProgress struct {
	quiet   bool
	total   int
	started time.Time

	mu      sync.Mutex
	last    time.Time
	done    int
	skipped int // of them, that an earlier process of the run has searched
	running map[string]tuner.Progress
}

func newManyProgress(quiet bool, total int) *manyProgress {
	return &manyProgress{quiet: quiet, total: total, started: time.Now(), last: time.Now(), running: map[string]tuner.Progress{}}
}

// of is the progress of one of them.
func (m *manyProgress) of(label string) progress { return &oneOfMany{m, label} }

type oneOfMany struct {
	all   *manyProgress
	label string
}

func (o *oneOfMany) update(p tuner.Progress) {
	o.all.mu.Lock()
	o.all.running[o.label] = p
	o.all.mu.Unlock()
	o.all.print(false)
}

func (o *oneOfMany) done() {}

func (m *manyProgress) finish(label string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done++
	delete(m.running, label)
}

// skip counts a problem that needed no search.
func (m *manyProgress) skip() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done++
	m.skipped++
}

// print prints a line, if it is time for one.
func (m *manyProgress) print(last bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.quiet || !last && time.Since(m.last) < plainInterval {
		return
	}
	m.last = time.Now()
	say(os.Stderr, m.line())
}

// line says how many problems are done, and how far each is that is under way. It also
// says when all will be done, if the others take as long.
func (m *manyProgress) line() string {
	parts := []string{fmt.Sprintf("%d/%d problems", m.done, m.total)}
	if m.skipped > 0 {
		parts[0] += fmt.Sprintf(" (%d searched before)", m.skipped)
	}
	if searched := m.done - m.skipped; searched > 0 && m.done < m.total {
		left := time.Since(m.started) / time.Duration(searched) * time.Duration(m.total-m.done)
		parts = append(parts, "ETA "+left.Round(time.Second).String())
	}
	for _, label := range slices.Sorted(maps.Keys(m.running)) {
		p := m.running[label]
		parts = append(parts, fmt.Sprintf("%s: %d", label, p.Done))
	}
	return strings.Join(parts, "  ")
}
