package tuner

import (
	"math"

	"autotune/space"
	"autotune/tuner/device"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// evaluated completes a trial with what the device said.
func evaluated(t trial.Trial, e device.Evaluation) trial.Trial {
	t.Status, t.Message = e.Status, e.Message
	t.MaxAbsError, t.Resources, t.ClockMHz = finite(e.MaxAbsError), e.Resources, e.ClockMHz
	t.Warnings, t.Dropped = e.Warnings, e.Dropped
	t.Phases.VerifyMS, t.Phases.MeasureMS = e.VerifyMS, e.MeasureMS
	if e.CompileMS > 0 {
		t.Phases.CompileMS = e.CompileMS
	}
	if e.Status == trial.OK {
		t.SamplesMS, t.Time = e.Samples, trial.Summarise(e.Samples, e.Batch)
	}
	return t
}

// finite keeps an error that JSON can hold: what is beyond every number is the
// largest one.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return math.MaxFloat64
	}
	return x
}
func copyOf(t trial.Trial) *trial.Trial { return &t }

// newTrial starts the record of a configuration.
func newTrial(c space.Configuration, k operator.Kernel) trial.Trial {
	macros := make(map[string]string, len(k.Macros))
	for _, m := range k.Macros {
		macros[m.Name] = m.Value
	}
	return trial.Trial{
		Template: c.Template, Configuration: c.Map(), Macros: macros, Launch: k.Launch,
		KernelDigest: k.Digest(),
	}
}
