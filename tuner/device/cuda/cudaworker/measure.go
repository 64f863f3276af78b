//go:build cuda

package cudaworker

import (
	"fmt"
	"time"

	"autotune/tuner/trial"

	"gorgonia.org/cu"
)

// Launches that tell how short a short launch is.
const shortLaunches = 10

// measure takes a verified variant's samples. launchMS is what its only launch
// so far took: where that shows it to be far behind, it stays the only one.
func (p *problem) measure(v variant, best, launchMS float64, e *trial.Outcome) (launched bool, err error) {
	s := sampling{protocol: p.request.Protocol, best: best}
	if s.lost(launchMS) {
		e.SetSamples([]float64{launchMS}, 1)
		e.Dropped = true
		return false, nil
	}
	estimate, err := p.warmUp(v)
	if err != nil {
		return true, fmt.Errorf("warm up: %w", err)
	}
	batch := batchFor(estimate, p.request.Protocol.BatchBelow)
	seen := clocks{since: time.Now()}
	each := estimate*float64(batch) + p.flushMS()
	for {
		count := min(s.next(each), greatestSpell)
		if count == 0 {
			break
		}
		begin := time.Now()
		ms, err := p.spell(v, count, batch, each, &seen)
		if err != nil {
			return true, fmt.Errorf("take samples: %w", err)
		}
		s.samples = append(s.samples, ms...)
		s.spent += time.Since(begin)
		each = float64(s.spent) / float64(time.Millisecond) / float64(len(s.samples))
	}
	e.SetSamples(s.samples, batch)
	e.Dropped = s.dropped
	e.ClockMHz, e.Warnings = seen.last, seen.warnings()
	return true, nil
}

// warmUp makes the launches that are never counted and tells what one takes, in
// milliseconds. The launch that was verified was the first of them.
func (p *problem) warmUp(v variant) (float64, error) {
	launch := func(count int) (float64, error) {
		ms, err := p.timeEach(1, func() error { return p.launch(v, count) }, p.request.Protocol.LaunchTimeout*time.Duration(count))
		if err != nil {
			return 0, err
		}
		return ms[0] / float64(count), nil
	}
	estimate, err := launch(max(p.request.Protocol.WarmUp-1, 1))
	if err != nil || estimate >= float64(p.request.Protocol.BatchBelow)/float64(time.Millisecond) {
		return estimate, err
	}
	return launch(shortLaunches)
}

// spell takes some samples with no pause between them: each empties the cache,
// then times a batch of launches. each is what one should take.
func (p *problem) spell(v variant, count, batch int, each float64, seen *clocks) ([]float64, error) {
	for i := range count {
		if err := cu.MemsetD32Async(p.flush, uint(i), p.memory.Flush/4, p.gpu.stream); err != nil {
			return nil, fmt.Errorf("empty the cache: %w", err)
		}
		if err := p.queueTimed(i, func() error { return p.launch(v, batch) }); err != nil {
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

// launch queues a variant's launches on the tensors.
func (p *problem) launch(v variant, count int) error {
	if err := launchRow(v.function, v.launch, p.gpu.stream, p.parameters, count); err != nil {
		return fmt.Errorf("launch: %w", err)
	}
	return nil
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
