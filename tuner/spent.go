package tuner

import (
	"math"

	"autotune/device/trial"
)

// Spent says where a search's wall time went, in seconds. Compile, Verify and Measure are sums of the times of all
// trials. Compilations run in parallel, and so do evaluations on several devices, so each sum can exceed the wall time.
type Spent struct {
	Open    float64 `json:"open"` // time for preparing tensors and the reference's output
	Compile float64 `json:"compile"`
	Verify  float64 `json:"verify"`
	Measure float64 `json:"measure"`
	Finals  float64 `json:"finals"` // time for finals, gates and a second worker
	Wait    float64 `json:"wait"`   // time in which the device, or an average one of several, was idle
	// The field Busy occurs only in documents that were written in November 2026 or earlier.
	Busy float64 `json:"busy,omitempty"`
}

func (s *Spent) add(p trial.Phases) {
	s.Compile += p.CompileMS / 1e3
	s.Verify += p.VerifyMS / 1e3
	s.Measure += p.MeasureMS / 1e3
}

// compilationsAnEvaluation returns how many configurations must be compiling for each device so that a compiled variant
// is ready whenever the device finishes an evaluation.
func (s Spent) compilationsAnEvaluation() int {
	evaluating := s.Verify + s.Measure
	if evaluating == 0 {
		return policy.aheadAtFirst
	}
	return int(math.Ceil(policy.aheadMargin * s.Compile / evaluating))
}
