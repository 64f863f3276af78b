package bestconfig

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"autotune/device/recording"
	"autotune/device/trial"
	"autotune/operator"
	"autotune/tuner"
)

// FromRecord makes the document of a search from its record.
func FromRecord(r tuner.Record) Document {
	measured := r.Device.Kind.Properties().Compiles // false for a replay, which measures nothing
	d := Document{
		Operator: r.Problem.Operator, Problem: r.Problem, Device: r.Device,
		Target: r.Device.Limits.Target, ReferenceDigest: r.ReferenceDigest, Conditions: r.Protocol.Conditions,
		Trials: r.Counts, Warnings: r.Warnings, Doubts: r.Doubts, RecordedAt: r.At,
		Search: Search{
			Strategy: r.Strategy, Seconds: r.Seconds, Evaluations: r.Total - r.Resumed,
			Resumed: r.Resumed, ValidConfigurations: r.Valid, Extent: r.Extent,
		},
	}
	if measured {
		d.Protocol = r.Protocol.Unconditioned() // a recording states its own protocol
		if d.Search.Evaluations > 0 {
			d.Search.Spent = &r.Spent
		}
	} else {
		d.Recording = &Recording{File: r.Device.Recording, RecordedAt: r.Device.RecordedAt, Device: r.Device.Name}
		d.RecordedAt = r.Device.RecordedAt
		d.ReferenceDigest = ""                           // a recording does not tell its reference
		d.Search.Evaluations -= r.ByStatus[trial.Pruned] // configurations that are not in the recording
	}
	if w := r.Winner; w != nil {
		d.Configuration, d.Macros, d.Launches, d.Time = w.Configuration, w.Macros, w.Launches, w.Time
		d.Measured, d.KernelDigest, d.Evidence = w.Measured, w.KernelDigest, r.Evidence
	}
	d.compareAll(r.Baselines)
	d.SetRoofline(r.Problem.Bytes, r.Problem.Flops, r.Ceilings.CopyBytesPerMS)
	d.SetPeaks(r.Ceilings.Peaks)
	return d
}

// compareAll fills in the document's baselines, and leaves out times measured on a GPU if the winner was timed on the
// emulator.
func (d *Document) compareAll(list []tuner.Baseline) {
	var elsewhere []string
	for _, b := range list {
		if d.Device.Kind.Properties().Caveat != "" && b.Name != Default && b.Name != Reference {
			elsewhere = append(elsewhere, b.Name)
			continue
		}
		d.Compare(b.Name, b.TimeMS)
		if _, known := d.Baselines[b.Name]; known && b.Speedup > 0 {
			d.Baselines[b.Name] = b
		}
	}
	if len(elsewhere) > 0 {
		d.Warnings = append(slices.Clone(d.Warnings), fmt.Sprintf("left out of the comparison: %s: "+
			"a time measured on a GPU does not compare with emulated ones", strings.Join(elsewhere, ", ")))
	}
}

// FromRecording returns a recording's trials and the document of the fastest one. The document contains no macros and
// launches, since recordings do not store them. The problem must be the recorded problem, and must be bound with the
// limits of the recorded device.
func FromRecording(r *recording.Recording, p *operator.Problem) (Document, []trial.Trial, error) {
	trials := slices.Clone(r.Trials)
	counts := tuner.Counts{Total: len(trials), ByStatus: map[trial.Status]int{}}
	var best *trial.Trial
	for i := range trials {
		t := &trials[i]
		t.SetSamples(t.SamplesMS, t.Time.Batch)
		counts.ByStatus[t.Status]++
		if t.Status == trial.OK && (best == nil || t.Time.Median < best.Time.Median) {
			best = t
		}
	}
	if best == nil {
		return Document{}, nil, fmt.Errorf("%s: %w among the %d recorded", r.File, tuner.ErrNoVariant, len(r.Trials))
	}
	ceilings := r.Metadata.Ceilings
	d := FromRecord(tuner.Record{
		Problem: p.Record(), Device: recording.Replay(r).Info(), Protocol: r.Metadata.Protocol, Winner: best, Counts: counts,
		Ceilings: ceilings, Warnings: trial.Lines(slices.Concat(best.Warnings, best.Time.Warnings())),
		Doubts: trial.Gather(trials),
	})
	d.Search = Search{ValidConfigurations: r.Metadata.Valid} // nothing was searched in this run
	d.Compare(Reference, ceilings.ReferenceMS)
	for name, ms := range ceilings.Baselines {
		d.Compare(name, ms)
	}
	if defaults := p.Defaults(context.Background()); len(defaults) > 0 {
		untuned := recording.Key(defaults[0])
		for _, t := range trials {
			if t.Status == trial.OK && recording.Key(t.Configuration) == untuned {
				d.Compare(Default, t.Time.Median)
				break
			}
		}
	}
	return d, trials, nil
}
