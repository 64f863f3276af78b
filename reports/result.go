package reports

import (
	"autotune/tuner"
	"autotune/tuner/recording"
)

// FromRecord makes the best-config document of a search's outcome.
func FromRecord(r tuner.Record) BestConfig {
	b := BestConfig{
		Operator: r.Problem.Operator, Problem: r.Problem, Device: r.Device,
		Trials:     Trials{Total: r.Total, ByStatus: r.ByStatus},
		Warnings:   r.Warnings,
		RecordedAt: r.At,
		Search: Search{
			Strategy: r.Strategy, Seconds: r.Breakdown.Wall.Seconds(),
			Evaluations: r.Total - r.Resumed, Resumed: r.Resumed, ValidConfigurations: r.Valid,
			Part: r.Part, Stop: string(r.Stop), StartedFrom: r.StartedFrom, Spent: spent(r),
		},
	}
	if !r.Device.Kind.Properties().Compiles {
		b.Recording = &Recording{File: r.Device.Recording, RecordedAt: r.Device.RecordedAt, Device: r.Device.Name}
		b.RecordedAt = r.Device.RecordedAt
	}
	if w := r.Winner; w != nil {
		b.Configuration, b.Macros, b.Launch, b.Time, b.Measured = w.Configuration, w.Macros, w.Launch, w.Time, w.Measured
	}
	for _, base := range r.Baselines {
		b.Compare(BaselineName(base.Name), base.TimeMS)
	}
	b.SetRoofline(r.Problem.Bytes, r.Problem.Flops, r.Ceilings.CopyBytesPerMS)
	return b
}

// spent is nil where nothing was evaluated, or where a recording answered.
func spent(r tuner.Record) *Spent {
	if r.Total == r.Resumed || !r.Device.Kind.Properties().Compiles {
		return nil
	}
	b := r.Breakdown
	return &Spent{
		Open: b.Open.Seconds(), Compile: b.Compile.Seconds(), Verify: b.Verify.Seconds(),
		Measure: b.Measure.Seconds(), Finals: b.Finals.Seconds(), Wait: b.Wait.Seconds(), Busy: b.Busy,
	}
}

// Recorded is a search as a recording, which a replay answers from.
func Recorded(r *tuner.Result, tool string) recording.Recording {
	return recording.Recording{Trials: r.Trials, Metadata: recording.Metadata{
		Tool: tool, Problem: r.Record.Problem, Device: r.Device, Protocol: r.Protocol, Ceilings: r.Ceilings,
		Valid: r.Valid, RecordedAt: r.At,
	}}
}
