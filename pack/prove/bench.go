package prove

import (
	"context"
	"fmt"
	"time"

	"autotune/device/trial"
	"autotune/reports"
	"autotune/space"
	"autotune/tuner"
	"autotune/tuner/final"
)

// BenchOptions say what a winner is timed beside.
type BenchOptions struct {
	Others   bool         // also beside PyTorch
	Rivals   final.Rivals // PyTorch; nil on a device without a GPU
	NoRivals error        // why it cannot be timed
	// Await shows what is done, and gives what changes that and what ends it.
	Await func(what string) (now func(string), done func())
}

// Bench times a winner in turns with its default, and then with PyTorch.
func Bench(ctx context.Context, s final.Subject, best reports.BestConfig, o BenchOptions) (r tuner.Record, err error) {
	now, done := o.Await("timing the winner beside the default")
	defer done()
	var untuned []space.Configuration
	if defaults := s.Problem.Defaults(ctx); len(defaults) > 0 && defaults[0].Key() != best.Key() {
		untuned = defaults[:1]
	}
	found, err := final.Around(ctx, s, best.Configuration, untuned, time.Minute, func(int, int) {})
	if err != nil {
		return r, err
	}
	info := s.Device.Info()
	r = tuner.Record{
		Problem: s.Problem.Record(), Device: info, Protocol: s.Protocol, Winner: &found.Centre, Ceilings: found.Ceilings,
		At:       time.Now().UTC(),
		Evidence: tuner.Evidence{Objective: best.Objective}, ReferenceDigest: best.ReferenceDigest,
		Warnings: trial.Lines(found.Centre.Warnings),
	}
	if info.Kind.Properties().Caveat == "" {
		r.Warnings = append(r.Warnings, trial.Lines(found.Centre.Time.Warnings())...)
	}
	for _, t := range found.Others {
		if t.Status != trial.OK {
			r.Warnings = append(r.Warnings, fmt.Sprintf("the default ended as %s: %s", t.Status, t.Reason()))
			continue
		}
		r.Baselines = append(r.Baselines, tuner.Baseline{Name: "default", TimeMS: t.Time.Median, Speedup: t.Ratio,
			CI95: t.CI95})
	}
	if ms := found.Ceilings.ReferenceMS; ms > 0 {
		r.Baselines = append(r.Baselines, tuner.Baseline{Name: "reference", TimeMS: ms})
	}
	if !o.Others {
		return r, ctx.Err()
	}
	now("timing PyTorch beside the winner")
	var beside []tuner.Baseline
	var notes []string
	if err = o.NoRivals; err == nil {
		beside, notes, err = tuner.TimeBeside(ctx, s, best.Configuration, o.Rivals)
	}
	r.Baselines, r.Warnings = append(r.Baselines, beside...), append(r.Warnings, notes...)
	if err != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("others were not timed beside the winner: %v", err))
	}
	return r, ctx.Err()
}
