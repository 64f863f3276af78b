package tuner

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/output"
	"autotune/tuner/final"
)

func (s *search) result() *Result {
	r := &Result{Record: s.out, Problem: s.subject.Problem}
	r.Total, r.Resumed, r.At = len(s.field.Trials), s.course.resumed, time.Now().UTC()
	if r.Part != "" {
		r.warn(fmt.Sprintf("only part of the space was searched, %d of %d configurations: %s", s.space.Len(), r.Valid, r.Part))
	}
	r.name(s.field, s.can, s.Gating == final.GateWinner)
	return r
}

// view shows the user how far the search has come.
type view struct {
	options *Options
	course  *course
	out     *Record
	started time.Time
	phase   Phase
}

func (v *view) show(p Phase) {
	v.phase = p
	valid, field := v.course.space.Len(), v.course.field
	planned, done := valid, len(field.Trials)
	if v.options.Budget > 0 {
		planned = min(planned, int64(v.options.Budget))
	}
	v.options.Observe(Progress{
		Phase: p, Done: done, Planned: max(planned, int64(done)), Valid: valid, Resumed: v.course.resumed,
		ByStatus: maps.Clone(field.ByStatus), Best: copyOf(field.Best()), Default: copyOf(field.Untuned()),
		Elapsed: time.Since(v.started), Limit: v.options.Time, Outlook: v.out.Outlook,
	})
}

func copyOf(t *trial.Trial) *trial.Trial {
	if t == nil {
		return nil
	}
	own := *t
	return &own
}

func (r *Record) warn(lines ...string) { r.Warnings = append(r.Warnings, lines...) }

// name stores in the result the trials, the winner, and the times to compare the winner with.
func (r *Result) name(f *final.Field, can device.Properties, gated bool) {
	r.Trials, r.ByStatus = f.Trials, f.ByStatus
	winner, ties := f.Decide()
	r.Winner = winner
	if len(ties) > 1 {
		r.Ties = ties
	}
	if winner != nil {
		if r.Gates == nil && can.Compiles && gated {
			r.warn("the search ended before its winner was put through the gates")
		}
		if untried := r.Gates.Warning(); untried != "" {
			r.warn(untried)
		}
		r.warn(trial.Lines(winner.Warnings)...)
	}
	if winner != nil && can.Caveat == "" {
		r.warn(trial.Lines(winner.Time.Warnings())...)
	}
	if can.Caveat == "" && final.Timed(r.Protocol) {
		r.Doubts = trial.Gather(f.Trials)
	}
	if untuned := f.Untuned(); untuned != nil && untuned.Status == trial.OK {
		r.Default = untuned
	}
	r.Baselines = baselines(r.Default, r.Ceilings, r.Baselines)
}

// baselines returns the known times to compare the winner with. Only times of rivals, which were measured in turns with
// the winner, have speedups.
func baselines(untuned *trial.Trial, c device.Ceilings, rivals []Baseline) []Baseline {
	var all []Baseline
	add := func(name string, ms float64) {
		if at := slices.IndexFunc(rivals, func(b Baseline) bool { return b.Name == name }); at >= 0 {
			all = append(all, rivals[at])
		} else if ms > 0 {
			all = append(all, Baseline{Name: name, TimeMS: ms})
		}
	}
	if untuned != nil {
		add("default", untuned.Time.Median)
	}
	add("reference", c.ReferenceMS)
	for _, name := range slices.Sorted(maps.Keys(c.Baselines)) {
		add(name, c.Baselines[name])
	}
	return all
}

// withBaselines returns ceilings with the given baseline times added to those that the ceilings of a recording contain.
func withBaselines(c device.Ceilings, more map[string]float64) device.Ceilings {
	all := map[string]float64{}
	maps.Copy(all, c.Baselines)
	maps.Copy(all, more)
	c.Baselines = all
	return c
}

func (r *Record) addBaselines(all []Baseline) {
	times := map[string]float64{}
	for _, b := range all {
		times[b.Name] = b.TimeMS
	}
	r.Baselines = append(r.Baselines, all...)
	r.Ceilings = withBaselines(r.Ceilings, times)
}

// noVariant returns the error of a search without a winner. `late` says that the search ended long after its time
// limit, and `opened` that the device had been opened by then.
func (r *Result) noVariant(o Options, late, opened bool) error {
	switch {
	case late && !opened:
		return fmt.Errorf("%w within %v: the operator's reference was still being computed; allow more time", ErrNoVariant, o.Time)
	case late:
		return fmt.Errorf("%w within %v: %s evaluated, none of them right; allow more time", ErrNoVariant, o.Time, output.Count(r.Total, "variant"))
	}
	for _, t := range r.Trials {
		if t.Message != "" {
			return fmt.Errorf("%w among %d tried; the first, of template %s, ended as %s: %s", ErrNoVariant, r.Total, t.Template, t.Status, t.Reason())
		}
	}
	return fmt.Errorf("%w among %d tried", ErrNoVariant, r.Total)
}
