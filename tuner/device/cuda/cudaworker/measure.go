//go:build cuda

package cudaworker

import (
	"errors"
	"fmt"
	"time"

	"gorgonia.org/cu"

	"autotune/tuner/device"
	"autotune/tuner/trial"
)

// Launches that tell how short a short launch is.
const shortLaunches = 10

// measure takes a verified variant's samples. launchMS is what its only launch
// so far took: where that shows it to be far behind, it stays the only one.
func (p *problem) measure(v variant, best, launchMS float64, e *trial.Outcome) (launched bool, err error) {
	s := sampling{protocol: p.request.Protocol, best: best}
	if !p.warm() && s.lost(launchMS) { // the verifying launch found a cold cache
		e.SetSamples([]float64{launchMS}, 1)
		e.Dropped = true
		return false, nil
	}
	estimate, err := p.warmUp(v)
	if err != nil {
		return true, fmt.Errorf("warm up: %w", err)
	}
	batch := 1
	if !p.restores() {
		batch = batchFor(estimate, p.request.Protocol.BatchBelow)
	}
	launch, done, err := p.batchOf(v, batch)
	if err != nil {
		return true, err
	}
	defer func() {
		if !isSticky(err) { // else the driver may wait for a kernel that never ends
			done()
		}
	}()
	seen := clocks{since: time.Now()}
	each := estimate*float64(batch) + p.flushMS()
	if p.warm() {
		each = estimate * float64(batch)
	}
	for {
		count := min(s.next(each), greatestSpell)
		if count == 0 {
			break
		}
		begin := time.Now()
		ms, err := p.spell(launch, count, batch, each, &seen)
		if err != nil {
			return true, fmt.Errorf("take samples: %w", err)
		}
		s.samples = append(s.samples, ms...)
		s.spent += time.Since(begin)
		each = float64(s.spent) / float64(time.Millisecond) / float64(len(s.samples))
	}
	e.SetSamples(s.samples, batch)
	e.Dropped = s.dropped
	e.ClockMHz, e.Celsius, e.Warnings = seen.last, seen.celsius, append(seen.warnings(), p.gpu.monitor.company()...)
	return true, nil
}

// warmUp makes the launches that are never counted and tells what one takes, in
// milliseconds. The launch that was verified was the first of them.
func (p *problem) warmUp(v variant) (float64, error) {
	estimate, err := p.launches(v, max(p.request.Protocol.WarmUp-1, 1))
	if err != nil || estimate >= float64(p.request.Protocol.BatchBelow)/float64(time.Millisecond) {
		return estimate, err
	}
	return p.launches(v, shortLaunches)
}

// launches makes some launches in a row and tells what one takes, in milliseconds.
func (p *problem) launches(v variant, count int) (float64, error) {
	limit := p.request.Protocol.LaunchTimeout * time.Duration(count)
	if p.restores() {
		ms, err := p.timeEach(min(count, greatestSpell), p.restoreTensors, func() error { return p.launch(v, 1) }, limit)
		if err != nil {
			return 0, err
		}
		return trial.Median(ms), nil
	}
	ms, err := p.timeEach(1, nothing, func() error { return p.launch(v, count) }, limit)
	if err != nil {
		return 0, err
	}
	return ms[0] / float64(count), nil
}

// batchOf is how a sample's launches are queued: one by one, or as one launch of
// a graph of them. done frees what that took.
func (p *problem) batchOf(v variant, batch int) (launch func() error, done func(), err error) {
	queue := func() error { return p.launch(v, batch) }
	if p.request.Protocol.Conditions.Launch != device.Graph {
		return queue, func() {}, nil
	}
	g, err := capture(p.gpu.stream, queue)
	if err != nil {
		return nil, nil, fmt.Errorf("capture %d launches into a CUDA graph: %w", batch, err)
	}
	launch = func() error { return g.launch(p.gpu.stream) }
	// The first launch also takes the graph to the GPU.
	if _, err := p.timeEach(1, p.restoreTensors, launch, p.request.Protocol.LaunchTimeout*time.Duration(batch)); err != nil {
		if !isSticky(err) {
			g.destroy()
		}
		return nil, nil, fmt.Errorf("launch a CUDA graph of %d launches: %w", batch, err)
	}
	return launch, g.destroy, nil
}

func (p *problem) warm() bool { return p.request.Protocol.Conditions.L2 == device.Warm }

// spell takes some samples with no pause between them: each times a batch of
// launches. A cold cache is emptied before each sample. A warm one holds what the
// sample before left there, or before the first of them launches that do not count.
// Tensors that a launch changes are restored before that is done. each is what one
// sample should take.
func (p *problem) spell(launch func() error, count, batch int, each float64, seen *clocks) ([]float64, error) {
	if err := resetPersistingL2(); err != nil {
		return nil, fmt.Errorf("reset the persisting lines of the L2 cache: %w", err)
	}
	if p.warm() {
		if err := errors.Join(p.restoreTensors(), launch()); err != nil {
			return nil, fmt.Errorf("fill the cache: %w", err)
		}
	}
	for i := range count {
		if err := p.restoreTensors(); err != nil {
			return nil, err
		}
		if !p.warm() {
			if err := cu.MemsetD32Async(p.flush, uint(i), p.memory.Flush/4, p.gpu.stream); err != nil {
				return nil, fmt.Errorf("empty the cache: %w", err)
			}
		}
		if err := p.queueTimed(i, launch); err != nil {
			return nil, err
		}
	}
	expected := time.Duration(float64(count) * each * float64(time.Millisecond))
	if expected > shortestLook { // the GPU is at work now: the moment to see at what clock
		seen.add(p.gpu.monitor.look(expected))
	}
	ms, err := p.times(count, p.request.Protocol.LaunchTimeout+lateFactor*expected)
	for i := range ms {
		ms[i] /= float64(batch)
	}
	return ms, err
}

const (
	shortestLook = time.Millisecond // a spell must last longer for a look at the clock
	lateFactor   = 4                // a spell may take this many times what it should, and LaunchTimeout, before it is given up
)

// flushMS is what emptying the cache takes, by the bandwidth of copies; an
// estimate for the first spell only.
func (p *problem) flushMS() float64 {
	if p.ceilings.CopyBytesPerMS == 0 {
		return 0.1
	}
	return float64(p.memory.Flush) / p.ceilings.CopyBytesPerMS
}
