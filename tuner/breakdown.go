package tuner

import (
	"sync"
	"time"

	"autotune/tuner/trial"
)

// Breakdown says where a search's wall time went. Compile, Verify and Measure
// add up the work itself (compilations run side by side, so Compile can exceed
// Wall); Wait is the time in which the device had nothing to do.
type Breakdown struct {
	Wall    time.Duration
	Open    time.Duration // preparing tensors and the reference's output
	Compile time.Duration
	Verify  time.Duration
	Measure time.Duration
	Finals  time.Duration // making sure of the winner
	Wait    time.Duration
	// Busy is the share of Wall in which the device was at work or every
	// compile worker was.
	Busy float64
}

// workMeter integrates, over time, whether the search was held up by real
// work: the device busy, or all compile workers busy.
type workMeter struct {
	mu        sync.Mutex
	workers   int
	compiling int
	device    bool
	since     time.Time
	busy      time.Duration
	now       func() time.Time
}

func newWorkMeter(workers int, now func() time.Time) *workMeter {
	return &workMeter{workers: workers, since: now(), now: now}
}

// change accounts for the time up to now, then applies f.
func (m *workMeter) change(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if m.device || m.compiling >= m.workers {
		m.busy += now.Sub(m.since)
	}
	m.since = now
	f()
}

func (m *workMeter) compileStarts() { m.change(func() { m.compiling++ }) }
func (m *workMeter) compileEnds()   { m.change(func() { m.compiling-- }) }
func (m *workMeter) deviceStarts()  { m.change(func() { m.device = true }) }
func (m *workMeter) deviceEnds()    { m.change(func() { m.device = false }) }

func (m *workMeter) total() time.Duration {
	m.change(func() {})
	return m.busy
}

// add accounts for one new trial.
func (b *Breakdown) add(p trial.Phases) {
	b.Compile += milliseconds(p.CompileMS)
	b.Verify += milliseconds(p.VerifyMS)
	b.Measure += milliseconds(p.MeasureMS)
}

func milliseconds(ms float64) time.Duration {
	return time.Duration(ms * float64(time.Millisecond))
}
