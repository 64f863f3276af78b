package reports

import (
	"autotune/tuner"
	"autotune/tuner/device/replay"
)

// FromRecord makes the best-config document of a search's outcome.
func FromRecord(r tuner.Record) BestConfig {
	b := BestConfig{
		Operator:   r.Problem.Operator,
		Problem:    Problem{Shape: r.Problem.Shape, Parameters: map[string]string{}, Math: r.Problem.Math, Text: r.Problem.Text},
		Device:     Device{Name: r.Device.Name, Kind: r.Device.Kind, Driver: r.Device.Driver, Compiler: r.Device.Compiler},
		Trials:     Trials{Total: r.Total, ByStatus: r.ByStatus},
		Warnings:   r.Warnings,
		RecordedAt: r.At,
		Search: Search{
			Strategy: r.Strategy, Seconds: r.Breakdown.Wall.Seconds(),
			Evaluations: r.Total - r.Resumed, Resumed: r.Resumed, ValidConfigurations: r.Valid,
			Stop: string(r.Stop), StartedFrom: r.StartedFrom, Spent: spent(r),
		},
	}
	for _, p := range r.Problem.Parameters {
		b.Problem.Parameters[p.Name] = p.Value
	}
	if !r.Device.Kind.Properties().Compiles {
		b.Recording = &Recording{File: r.Device.Recording, RecordedAt: r.Device.RecordedAt, Device: r.Device.Name}
		b.RecordedAt = r.Device.RecordedAt
	}
	if w := r.Winner; w != nil {
		b.Template, b.Configuration, b.Macros, b.Launch = w.Template, w.Configuration, w.Macros, w.Launch
		b.Time = Time{Median: w.Time.Median, CI95: w.Time.CI95, Samples: w.Time.Samples}
		b.MaxAbsError, b.Resources = w.MaxAbsError, w.Resources
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

// Recorded writes a search down as a recording, which replay answers from.
func Recorded(r *tuner.Result, tool string) replay.Recording {
	p := r.Record.Problem
	m := replay.Metadata{
		TimeUnit: replay.TimeUnit, Format: replay.Format, Tool: tool,
		Operator: p.Operator, Problem: p.Text, Shape: p.Shape, Parameters: map[string]string{}, Math: p.Math,
		Device: r.Device, Protocol: r.Protocol, Ceilings: r.Ceilings, Valid: r.Valid, RecordedAt: r.At,
	}
	for _, parameter := range p.Parameters {
		m.Parameters[parameter.Name] = parameter.Value
	}
	recording := replay.Recording{Metadata: m}
	for _, t := range r.Trials {
		recording.Results = append(recording.Results, replay.NewResult(t))
	}
	return recording
}
