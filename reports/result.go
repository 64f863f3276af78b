package reports

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"autotune/device/recording"
	"autotune/device/replay"
	"autotune/device/trial"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner"
)

// FromRecord makes the best-config document of a search's outcome.
func FromRecord(r tuner.Record) BestConfig {
	b := BestConfig{
		Operator: r.Problem.Operator, Problem: r.Problem, Device: r.Device,
		Target: r.Device.Limits.Target, ReferenceDigest: r.ReferenceDigest, Conditions: r.Protocol.Conditions,
		Trials:     r.Counts,
		Warnings:   r.Warnings,
		Doubts:     r.Doubts,
		RecordedAt: r.At,
		Search: Search{
			Strategy: r.Strategy, Seconds: r.Breakdown.Wall.Seconds(),
			Evaluations: evaluated(r), Resumed: r.Resumed, ValidConfigurations: r.Valid,
			Extent: r.Extent, Spent: spent(r),
		},
	}
	if !r.Device.Kind.Properties().Compiles {
		b.Recording = &Recording{File: r.Device.Recording, RecordedAt: r.Device.RecordedAt, Device: r.Device.Name}
		b.RecordedAt = r.Device.RecordedAt
		b.ReferenceDigest = "" // a recording does not say what it verified against
	} else {
		b.Protocol = r.Protocol.Unconditioned() // of a replay, the recording has it
	}
	if w := r.Winner; w != nil {
		b.Configuration, b.Macros, b.Launches, b.Time, b.Measured = w.Configuration, w.Macros, w.Launches, w.Time, w.Measured
		b.Metrics, b.KernelDigest, b.Evidence = w.Metrics, w.KernelDigest, r.Evidence
	}
	b.compareAll(r.Baselines)
	b.SetRoofline(r.Problem.Bytes, r.Problem.Flops, r.Ceilings.CopyBytesPerMS)
	b.SetPeaks(r.Ceilings.Peaks)
	return b
}

// compareAll fills in the baselines. Times of a GPU are left out if the winner's is not one.
func (b *BestConfig) compareAll(list []tuner.Baseline) {
	var elsewhere []string
	for _, base := range list {
		name := BaselineName(base.Name)
		if b.Device.Kind.Properties().Caveat != "" && name != Default && name != Reference {
			elsewhere = append(elsewhere, base.Name)
			continue
		}
		b.Compare(name, base.TimeMS)
		if known, ok := b.Baselines[name]; ok && base.Speedup > 0 {
			known.Speedup, known.SpeedupCI95, known.Outputs = base.Speedup, base.CI95, base.Outputs
			b.Baselines[name] = known
		}
	}
	if len(elsewhere) > 0 {
		b.Warnings = append(slices.Clone(b.Warnings), fmt.Sprintf("left out of the comparison: %s: a time measured on a GPU does not compare with emulated ones", strings.Join(elsewhere, ", ")))
	}
}

// evaluated is how many trials were run, or answered by a recording, in this search. Configurations
// that a replay lacks do not count.
func evaluated(r tuner.Record) int {
	n := r.Total - r.Resumed
	if !r.Device.Kind.Properties().Compiles {
		n -= r.ByStatus[trial.Pruned]
	}
	return n
}

// DetailsOf is what a result's document does not hold. verify is the beginning of
// a command that checks one variant, "" where nothing can run it.
func DetailsOf(r *tuner.Result, verify string) Details {
	return Details{Lead: r.Lead, Failures: FailuresOf(r.Trials, verify)}
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

// FromRecording is the best-config document of a recording's fastest trial, with all trials. Macros
// and launch, which a recording lacks, stay empty. The problem is the recorded one, bound with the
// limits of the recorded device.
func FromRecording(r *recording.Recording, p *operator.Problem) (BestConfig, []trial.Trial, error) {
	trials := slices.Clone(r.Trials)
	for i := range trials {
		trials[i].SetSamples(trials[i].SamplesMS, trials[i].Time.Batch) // the recorded median is rounded
	}
	for i := range trials {
		tuner.SetMetrics(p, &trials[i])
	}
	best := fastest(trials)
	if best == nil {
		return BestConfig{}, nil, fmt.Errorf("%s: %w among the %d recorded", r.File, tuner.ErrNoVariant, len(r.Trials))
	}
	byStatus := map[trial.Status]int{}
	for _, t := range trials {
		byStatus[t.Status]++
	}
	ceilings := r.Metadata.Ceilings
	b := FromRecord(tuner.Record{
		Problem: p.Record(), Device: replay.Open(r).Info(), Protocol: r.Metadata.Protocol, Winner: best, Counts: tuner.Counts{Total: len(trials), ByStatus: byStatus},
		Ceilings: ceilings, Warnings: trial.Lines(slices.Concat(best.Warnings, best.Time.Warnings())), Doubts: trial.Gather(trials),
	})
	b.Search = Search{ValidConfigurations: r.Metadata.Valid} // nothing was searched now
	b.Compare(Reference, ceilings.ReferenceMS)
	for name, ms := range ceilings.Baselines {
		b.Compare(BaselineName(name), ms)
	}
	if defaults := p.Defaults(context.Background()); len(defaults) > 0 {
		b.Compare(Default, timeOf(trials, defaults[0]))
	}
	return b, trials, nil
}

// fastest is the trial with the shortest time, nil if none has one.
func fastest(trials []trial.Trial) *trial.Trial {
	var best *trial.Trial
	for i, t := range trials {
		if t.Status == trial.OK && (best == nil || t.Time.Median < best.Time.Median) {
			best = &trials[i]
		}
	}
	return best
}

// timeOf is the time of a configuration, 0 if it is not known.
func timeOf(trials []trial.Trial, c space.Configuration) float64 {
	for _, t := range trials {
		if t.Status == trial.OK && recording.Key(t.Configuration) == recording.Key(c) {
			return t.Time.Median
		}
	}
	return 0
}
