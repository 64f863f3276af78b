package gpu

import (
	"errors"
	"time"

	"autotune/device/trial"
	"autotune/device/verify"
)

const (
	burstMS       = 5                      // length of the launches between two looks at the counter
	greatestBurst = 1024                   // launches in one burst
	energySpan    = 500 * time.Millisecond // shortest time between the ticks that are compared
	energyGiveUp  = 2 * time.Second        // a counter that stands still for so long does not work
)

// energy launches a variant again and again and returns what a launch costs in
// millijoules, by the GPU's own counter; 0 where there is none that works.
func (m measuring) energy(v variant) (millijoules float64, err error) {
	if !m.tensors.restores() {
		return m.energyOf(v.launch)
	}
	// The energy of restoring tensors is subtracted.
	both, err := m.energyOf(func(count int) {
		for range count {
			m.tensors.restoreAll()
			v.launch(1)
		}
	})
	if err != nil || both == 0 {
		return 0, err
	}
	restoring, err := m.energyOf(func(count int) {
		for range count {
			m.tensors.restoreAll()
		}
	})
	// The last launch is looked at: its tensors must be as it leaves them.
	m.tensors.restoreAll()
	v.launch(1)
	return max(both-restoring, 0), errors.Join(err, m.gpu.Err())
}

// energyOf is what some work costs. Launch queues as much of the work as it is told.
func (m measuring) energyOf(launch func(count int)) (millijoules float64, err error) {
	if _, known := m.gpu.Energy(); !known {
		return 0, nil
	}
	limit := m.proto.LaunchTimeout
	ms, err := m.each(2, nil, func() { launch(1) }, 2*limit)
	if err != nil {
		return 0, err
	}
	burst := min(verify.AtLeastOne(burstMS/ms[1]), greatestBurst)
	late := limit + lateFactor*trial.DurationOf(float64(burst)*ms[1])
	queue := func(number int) {
		launch(burst)
		m.gpu.Record(number % 2)
	}
	finish := func(number int) error { return m.wait(number%2, late) }
	window, begin := energyWindow{}, time.Now()
	// One burst is always queued ahead, so that the GPU never waits for a look.
	queue(0)
	for number, complete := 0, false; err == nil && !complete; number++ {
		queue(number + 1)
		if err = finish(number); err == nil {
			used, known := m.gpu.Energy()
			complete = window.add(energyReading{used, (number + 1) * burst, time.Since(begin)}) || !known
		}
		if complete {
			err = finish(number + 1)
		}
	}
	return window.perLaunch(), err
}

// energyReading is the counter after a number of launches.
type energyReading struct {
	millijoules uint64
	launches    int
	at          time.Duration
}

// energyWindow picks the two readings whose difference is taken. The counter moves in steps, so
// both are taken right after a step.
type energyWindow struct {
	last     energyReading
	moved    time.Duration // when the counter last did
	from, to energyReading // no launches: not found yet
}

// add takes the next reading and tells whether there is nothing to wait for.
func (w *energyWindow) add(r energyReading) (complete bool) {
	before := w.last
	w.last = r
	switch {
	case before.launches == 0:
		w.moved = r.at
		return false
	case r.millijoules == before.millijoules:
		return r.at-w.moved > energyGiveUp
	}
	w.moved = r.at
	if w.from.launches == 0 {
		w.from = r
	} else if r.at-w.from.at >= energySpan {
		w.to = r
	}
	return w.to.launches > 0
}

// perLaunch is the energy of a launch between the two readings, 0 if they were not found.
func (w *energyWindow) perLaunch() float64 {
	if w.to.launches == 0 {
		return 0
	}
	return float64(w.to.millijoules-w.from.millijoules) / float64(w.to.launches-w.from.launches)
}
