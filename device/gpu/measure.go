package gpu

import (
	"fmt"
	"slices"
	"time"

	"autotune/device"
	"autotune/device/trial"
	"autotune/device/verify"
	"autotune/internal/lists"
)

const (
	shortLaunches = 10 // number of launches that measure how short a short launch is
	// A launch whose time is below loneFactor times the limit for batches is timed again, more precisely, as one of
	// shortLaunches launches in a row. The time of a single launch on an idle GPU includes host time for each of
	// the launch's kernels.
	loneFactor = 4
	longMS     = 50 // a launch this long needs no warm-up
)

type measuring struct {
	timer
	tensors  *tensors
	proto    device.Protocol
	ceilings device.Ceilings
	forget   func() // overwrites the results of launches in outputs and workspaces
}

// measure takes the samples of a verified variant. launchMS is the time of the verifying launch; if that shows that the
// variant is far behind the best, measure makes no further launch.
func (m measuring) measure(v variant, best, launchMS float64, e *trial.Outcome) (launched bool, err error) {
	s := verify.Sampling{Protocol: m.proto, Best: best}
	if !m.warm() && s.Lost(launchMS) { // the verifying launch found a cold cache
		e.SetSamples([]float64{launchMS}, 1)
		e.Dropped = true
		return false, nil
	}
	estimate, err := m.warmUp(v, launchMS)
	if err != nil {
		return true, fmt.Errorf("warm up: %w", err)
	}
	batch := 1
	if !m.tensors.restores() {
		batch = verify.BatchFor(estimate, m.proto.BatchBelow)
	}
	launch, done, err := m.batchOf(v, batch)
	if err != nil {
		return true, err
	}
	defer func() {
		if !isLost(err) { // else the driver may wait for a kernel that never ends
			done()
		}
	}()
	m.forget() // so that checks find elements that no later launch writes
	seen := clocks{since: time.Now()}
	each := estimate*float64(batch) + m.flushMS()
	if m.warm() {
		each = estimate * float64(batch)
	}
	for {
		count := min(s.Next(each), verify.GreatestSpell)
		if count == 0 {
			break
		}
		begin := time.Now()
		ms, err := m.spell(launch, count, batch, each, &seen)
		if err != nil {
			return true, fmt.Errorf("take samples: %w", err)
		}
		s.Samples = append(s.Samples, ms...)
		s.Spent += time.Since(begin)
		each = trial.MS(s.Spent) / float64(len(s.Samples))
	}
	e.SetSamples(s.Samples, batch)
	e.Dropped = s.Dropped
	e.ClockMHz, e.Warnings = seen.last, seen.warnings()
	return true, nil
}

// warmUp makes the launches that are not counted as samples, and returns the time of a launch in milliseconds. The
// launch that verified the variant counts as the first warm-up launch; a long kernel gets no further warm-up launch.
func (m measuring) warmUp(v variant, launchMS float64) (float64, error) {
	if launchMS >= longMS {
		return launchMS, nil
	}
	estimate, err := m.launches(v, max(m.proto.WarmUp-1, 1))
	if err != nil || estimate >= loneFactor*trial.MS(m.proto.BatchBelow) {
		return estimate, err
	}
	return m.launches(v, shortLaunches)
}

func (m measuring) launches(v variant, count int) (float64, error) {
	limit := m.proto.LaunchTimeout * time.Duration(count)
	if m.tensors.restores() {
		ms, err := m.each(min(count, verify.GreatestSpell), m.tensors.restoreAll, func() { v.launch(1) }, limit)
		if err != nil {
			return 0, err
		}
		return trial.Median(ms), nil
	}
	ms, err := m.each(1, nil, func() { v.launch(count) }, limit)
	if err != nil {
		return 0, err
	}
	return ms[0] / float64(count), nil
}

// batchOf returns a function that queues the launches of a sample, one by one or as a CUDA graph. done frees the graph.
func (m measuring) batchOf(v variant, batch int) (launch, done func(), err error) {
	queue := func() { v.launch(batch) }
	if m.proto.Conditions.Launch != device.Graph {
		return queue, func() {}, nil
	}
	launch, done, err = m.gpu.Capture(queue)
	if err != nil {
		return nil, nil, fmt.Errorf("capture %d launches into a CUDA graph: %w", batch, err)
	}
	// The first launch of a CUDA graph also uploads the graph to the GPU.
	if _, err := m.each(1, m.tensors.restoreAll, launch, m.proto.LaunchTimeout*time.Duration(batch)); err != nil {
		if !isLost(err) {
			done()
		}
		return nil, nil, fmt.Errorf("launch a CUDA graph of %d launches: %w", batch, err)
	}
	return launch, done, nil
}

func (m measuring) warm() bool { return m.proto.Conditions.L2 == device.Warm }

// spell times count samples, each of which is a batch of launches, without a pause between the samples. If the
// conditions ask for a cold cache, spell empties the cache before each sample; for a warm cache, one uncounted launch
// fills it before the first sample. If a launch changes tensors, they are restored before the cache is prepared. each
// is the expected time of one sample in milliseconds.
func (m measuring) spell(launch func(), count, batch int, each float64, seen *clocks) ([]float64, error) {
	m.gpu.ResetCache()
	if m.warm() {
		m.tensors.restoreAll()
		launch()
	}
	for i := range count {
		m.tensors.restoreAll()
		if !m.warm() {
			m.gpu.Set(m.tensors.flush, 4, uint32(i), m.tensors.flushed/4)
		}
		m.queue(i, launch)
	}
	expected := trial.DurationOf(float64(count) * each)
	if expected > shortestLook { // the GPU is at work now: read its clock
		seen.add(m.gpu.Look(expected))
	}
	ms, err := m.times(count, m.proto.LaunchTimeout+lateFactor*expected)
	for i := range ms {
		ms[i] /= float64(batch)
	}
	return ms, err
}

const (
	shortestLook = time.Millisecond // a shorter spell is not worth a reading of the clock
	lateFactor   = 4                // a spell is given up after this many times its expected time, plus LaunchTimeout
)

// flushMS estimates the time to empty the cache from the bandwidth of copies; only the first spell (uninterrupted
// series) of samples uses the estimate.
func (m measuring) flushMS() float64 {
	if m.ceilings.CopyBytesPerMS == 0 {
		return 0.1
	}
	return float64(m.tensors.flushed) / m.ceilings.CopyBytesPerMS
}

// movedBound is the relative change of the clock during a variant's samples above which a warning is given.
const movedBound = 0.05

// clocks sums up the readings of the GPU's clock during one variant's samples.
type clocks struct {
	since           time.Time // when the samples began
	last            int       // MHz, 0 if unknown
	lowest, highest int
	throttled       []string // reasons in any of the readings
}

// add adds a reading. A reading of the clock from before the samples gives the clock's rate, but not the changes of the
// rate during the samples.
func (c *clocks) add(r Reading) {
	c.last = r.MHz
	for _, reason := range r.Throttled {
		if !slices.Contains(c.throttled, reason) {
			c.throttled = append(c.throttled, reason)
		}
	}
	if r.MHz == 0 || r.At.Before(c.since) {
		return
	}
	if c.lowest == 0 || r.MHz < c.lowest {
		c.lowest = r.MHz
	}
	c.highest = max(c.highest, r.MHz)
}

func (c *clocks) warnings() []trial.Warning {
	all := lists.Of(c.throttled, func(reason string) trial.Warning { return trial.Warning{Kind: trial.Throttled, Reason: reason} })
	if float64(c.highest-c.lowest) > movedBound*float64(c.highest) {
		all = append(all, trial.Warning{Kind: trial.ClockMoved, LowMHz: c.lowest, HighMHz: c.highest})
	}
	return all
}

// timer measures the time of work on the GPU's queue with pairs of events.
type timer struct{ gpu GPU }

const helperLimit = time.Minute // time limit of the device's own kernels

// each runs the functions before and work, in this order, count times, and returns the times of work in milliseconds.
func (t timer) each(count int, before, work func(), limit time.Duration) ([]float64, error) {
	for i := range count {
		if before != nil {
			before()
		}
		t.queue(i, work)
	}
	return t.times(count, limit)
}

func (t timer) queue(pair int, work func()) {
	t.gpu.Record(2 * pair)
	work()
	t.gpu.Record(2*pair + 1)
}

func (t timer) times(pairs int, limit time.Duration) (ms []float64, err error) {
	if err := t.wait(2*pairs-1, limit); err != nil {
		return nil, err
	}
	ms = make([]float64, pairs)
	for i := range ms {
		if ms[i], err = t.gpu.Elapsed(2*i, 2*i+1); err != nil {
			return nil, err
		}
	}
	return ms, nil
}

// wait polls an event without pause for watchFor, and then pauses for watchPause between polls to leave the core idle.
const (
	watchFor   = 30 * time.Microsecond
	watchPause = 20 * time.Microsecond
)

func (t timer) wait(event int, limit time.Duration) error {
	if err := t.gpu.Err(); err != nil {
		return err
	}
	for begin := time.Now(); ; {
		passed, err := t.gpu.Passed(event)
		if err != nil || passed {
			return err
		}
		switch waited := time.Since(begin); {
		case waited > limit:
			return errLate
		case waited > watchFor:
			time.Sleep(watchPause)
		}
	}
}
