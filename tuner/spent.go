package tuner

import (
	"math"

	"autotune/device/trial"
)

// Spent says where a search's wall time went, in seconds. Compile, Verify and Measure add up the work itself.
// Compilations run side by side, and so do the evaluations of several devices, so each sum can exceed the wall time.
type Spent struct {
	Open    float64 `json:"open"` // preparing tensors and the reference's output
	Compile float64 `json:"compile"`
	Verify  float64 `json:"verify"`
	Measure float64 `json:"measure"`
	Finals  float64 `json:"finals"` // finals, gates and a second worker
	Wait    float64 `json:"wait"`   // the device, or one of several on average, had nothing to do
	// Busy stands in documents until November 2026 alone.
	Busy float64 `json:"busy,omitempty"`
}

func (s *Spent) add(p trial.Phases) {
	s.Compile += p.CompileMS / 1e3
	s.Verify += p.VerifyMS / 1e3
	s.Measure += p.MeasureMS / 1e3
}

// compilationsAnEvaluation is how many configurations must be compiling for each device, so that
// one is ready whenever it has evaluated another.
func (s Spent) compilationsAnEvaluation() int {
	evaluating := s.Verify + s.Measure
	if evaluating == 0 {
		return policy.aheadAtFirst
	}
	return int(math.Ceil(policy.aheadMargin * s.Compile / evaluating))
}
