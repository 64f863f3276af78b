package family

import (
	"context"
	"fmt"
	"time"

	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/operator"
	"autotune/tuner/bestconfig"
	"autotune/tuner/devices"
)

// Checked is how a family does at its samples on another day or device.
type Checked struct {
	Samples []Sample // as they are now, by the tree
	Score   Score    // of what the tree chooses
	// General is how many times as long the general kernel takes as what the tree chooses, by the
	// geometric mean; 0: it was not timed.
	General float64
	Status  trial.Status // of the first entry that failed at a shape; "": none did
	Message string       // where, and why
	LeftOut []LeftOut
}

// Check times a family's entries at its samples again, as they are compiled here, beside each
// shape's own best and the general kernel. Of the options it takes Search and Progress.
func (f *Family) Check(ctx context.Context, opener *devices.Opener, op *operator.Operator, o Options) (*Checked, error) {
	kernels, err := f.Kernels(op)
	if err != nil {
		return nil, err
	}
	o.MaxSlowdown = f.MaxSlowdown
	t := &tuning{Options: o, opener: opener, started: time.Now(), found: map[string]bestconfig.Document{}}
	t.plan.Name, t.plan.Operator, t.plan.Request = op.Name, op, f.Request(nil)
	t.clock = clock{started: t.started}
	t.clock.left[timings] = len(f.Samples)
	if t.Progress == nil {
		t.Progress = func(Progress) {}
	}
	all := lists.Places(len(f.Entries))
	t.candidates = lists.Of(all, func(i int) candidate { return candidate{Entry: f.Entries[i], formulas: kernels[i].Formulas} })
	for _, s := range f.Samples {
		t.plan.Samples = append(t.plan.Samples, s.Shape)
		t.found[key(s.Shape, false)] = bestconfig.Document{Configuration: s.Configuration}
	}
	if t.samples, err = t.timeAll(ctx, t.plan.Samples, all); err != nil {
		return nil, err
	}
	if len(t.samples) == 0 && t.fault != nil {
		return nil, t.fault
	}
	c := &Checked{LeftOut: t.leftOut, Samples: t.shown(f.Tree, t.samples, all)}
	c.Status, c.Message = t.failure()
	c.Score = scoreOf(c.Samples)
	var ratios []float64
	for _, s := range c.Samples {
		if chosen := s.timeOf(s.Chosen); chosen != nil && s.General != nil {
			ratios = append(ratios, s.General.Median/chosen.Median)
		}
	}
	c.General = score(ratios).Mean
	return c, nil
}

// failure is the status of the first entry that failed at a shape, where and why.
func (t *tuning) failure() (status trial.Status, message string) {
	for _, s := range t.samples {
		for i := range s.Candidates {
			if l := s.Laps[i]; l.Status != "" && l.Status != trial.OK {
				return l.Status, fmt.Sprintf("entry %d at %s: %s", i, operator.FormatShape(s.Shape), l.Message)
			}
		}
	}
	return "", ""
}
