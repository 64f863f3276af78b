package family

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/stat"

	"autotune/device/trial"
	"autotune/operator"
	"autotune/tuner/batch"
	"autotune/tuner/devices"
)

// Checked is the result of timing a family again, on another day or device.
type Checked struct {
	Samples []Sample     // the new times, with the kernel that the tree chooses
	Score   Score        // score of the kernels that the tree chooses
	General float64      // geometric mean of the general kernel's times over the chosen ones'; 0: not timed
	Status  trial.Status // of the first entry that failed at a shape; "": none did
	Message string       // at which shape it failed, and why
}

// Check compiles a family's entries for this device and times them again at the samples, together with each sample's
// own best kernel and the general kernel. Check uses only the fields Search and Progress of the options.
func (f *Family) Check(ctx context.Context, opener *devices.Opener, op *operator.Operator,
	o Options) (*Checked, error) {
	kernels, err := f.Kernels(op)
	if err != nil {
		return nil, err
	}
	o.MaxSlowdown, o.Budget = f.MaxSlowdown, 0
	t := newTuning(opener.Open, Plan{Request: batch.Request{Name: op.Name, Operator: op, Request: f.Request(nil)}}, o)
	for i, e := range f.Entries {
		t.candidates = append(t.candidates, candidate{Entry: e, formulas: kernels[i].Formulas})
	}
	for _, s := range f.Samples {
		t.Samples = append(t.Samples, s.Shape)
		t.own[operator.FormatShape(s.Shape)] = s.Configuration
	}
	if t.samples, err = t.timeAll(ctx, t.Samples, t.all()); err != nil {
		return nil, err
	}
	if len(t.samples) == 0 && t.fault != nil {
		return nil, t.fault
	}
	c := &Checked{Samples: t.shown(f.Tree, t.samples, t.all())}
	c.Score = scoreOf(c.Samples)
	var ratios []float64
	for _, s := range c.Samples {
		if s.General != nil {
			ratios = append(ratios, s.General.Median/s.OwnBest.Median/s.Slowdown)
		}
	}
	if len(ratios) > 0 {
		c.General = stat.GeometricMean(ratios, nil)
	}
	for _, s := range t.samples {
		for i := range t.candidates {
			if o := s.outcomes[i]; c.Status == "" && o.Status != trial.OK && o.Status != "" {
				c.Status, c.Message = o.Status, fmt.Sprintf("entry %d at %s: %s", i, operator.FormatShape(s.Shape), o.Reason())
			}
		}
	}
	return c, nil
}
