package gpu

import (
	"fmt"
	"math/rand/v2"

	"autotune/device/elements"
	"autotune/device/trial"
	"autotune/device/verify"
)

// All timed launches have the same inputs, and their outputs already hold the right results. A kernel that first looks
// at its outputs, or that keeps its results and compares the inputs, can skip the work in all timed launches and still
// give right results. A kernel that skips repeated work is slow only in a launch on new inputs. If a variant would
// become the fastest, prove compares a launch that repeats the previous one with a launch on new inputs and poisoned
// outputs. An honest kernel takes equally long for a repeated launch and for a launch on new inputs.

const (
	provings     = 5    // attempts, one of which suffices, because a time may be off by chance
	skipFactor   = 1.15 // a launch with all of its work may take this many times a repeated one,
	skipMS       = 0.001
	mostRepeated = 256 // limit of the launches before the repeated one, as many as in a sample
	repeatedMS   = 10  // limit of the time of further launches before it
)

// prove returns a message if a variant skips work in launches that repeat others, or "" if it does not. Finally prove
// verifies one more launch on the usual inputs.
func (s *session) prove(m measuring, v variant, t trial.Timing) (skips string, f verify.Findings, err error) {
	for range provings {
		var repeated, anew float64
		if repeated, anew, err = s.proveOnce(m, v, t); err != nil {
			return "", f, err
		}
		if anew <= skipFactor*repeated+skipMS {
			skips = ""
			break
		}
		skips = fmt.Sprintf("a launch with new inputs and poisoned outputs takes %.4g ms, one that repeats the launch before %.4g ms: "+
			"the kernel leaves out work whose results are there already", anew, repeated)
	}
	if err = s.renew(v, s.fills); err != nil {
		return skips, f, err
	}
	_, f, err = s.verify(v, poisoned)
	return skips, f, err
}

// proveOnce times two launches: one that repeats earlier launches, whose number no kernel can predict, and one that
// repeats none. The launch that repeats earlier launches and the launch that repeats none are each timed alone,
// with a cold cache that has no persisting lines.
func (s *session) proveOnce(m measuring, v variant, t trial.Timing) (repeated, anew float64, err error) {
	fills, err := elements.FillsOf(s.problem.Arguments, s.inputs.Distribution, s.proveSeed())
	if err != nil {
		return 0, 0, err
	}
	if repeated, err = s.repeated(m, v, t); err != nil {
		return 0, 0, err
	}
	if err := s.renew(v, fills); err != nil {
		return 0, 0, err
	}
	m.forget()
	anew, err = m.lone(v)
	return repeated, anew, err
}

// repeated returns the time of a launch that repeats many earlier launches; for long kernels, it returns the median of
// the samples.
func (s *session) repeated(m measuring, v variant, t trial.Timing) (float64, error) {
	if t.Median >= longMS {
		return t.Median, nil
	}
	if err := s.renew(v, s.fills); err != nil {
		return 0, err
	}
	more := min(t.Samples*t.Batch, mostRepeated, verify.AtLeastOne(repeatedMS/t.Median))
	if _, err := m.launches(v, min(t.Batch, mostRepeated)+m.proto.WarmUp+rand.IntN(more)); err != nil {
		return 0, err
	}
	s.tensors.restoreAll()
	return m.lone(v)
}

func (m measuring) lone(v variant) (float64, error) {
	m.gpu.ResetCache()
	m.gpu.Set(m.tensors.flush, 4, 0, m.tensors.flushed/4)
	m.queue(0, func() { v.launch(1) })
	ms, err := m.times(1, m.proto.LaunchTimeout)
	if err != nil {
		return 0, err
	}
	return ms[0], nil
}

// proveSeed returns a random seed, which no kernel can predict. The random seed is even if the usual seed is even, and
// odd otherwise, because this parity decides how many special values the inputs contain.
func (s *session) proveSeed() uint32 { return rand.Uint32()&^1 | s.inputs.Seed&1 }

// renew generates new random inputs for a loaded variant, but keeps inputs from files and from kernels of the operator.
func (s *session) renew(v variant, fills []elements.Fill) error {
	s.drawInputs(fills)
	if err := s.tensors.copySymbols(v.module); err != nil {
		return err
	}
	s.tensors.restoreAll()
	return s.tensors.gpu.Err()
}
