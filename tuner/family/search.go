package family

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner"
	"autotune/tuner/batch"
	"autotune/tuner/bestconfig"
	"autotune/tuner/devices"
	"autotune/tuner/final"
)

// tried is a correct configuration that a search has evaluated. Ratio is the configuration's time divided by the
// fastest time of its search.
type tried struct {
	space.Configuration
	Ratio float64
}

func key(shape []int64, dynamic bool) string { return fmt.Sprint(operator.FormatShape(shape), dynamic) }

func triedIn(r *tuner.Result) (all []tried) {
	ok := lists.Where(r.Trials, func(t trial.Trial) bool { return t.Status == trial.OK && t.Time.Median > 0 })
	slices.SortStableFunc(ok, func(a, b trial.Trial) int { return cmp.Compare(a.Time.Median, b.Time.Median) })
	return lists.Of(ok, func(t trial.Trial) tried { return tried{t.Configuration, t.Time.Median / ok[0].Time.Median} })
}

// requests returns the searches that the plan needs, in this order: alternately samples with dynamic dimensions and
// held-out shapes with fixed dimensions, then samples with fixed dimensions, which are skipped if the budget is short.
func (p *Plan) requests() (all []batch.Request) {
	add := func(shapes [][]int64, at int, dynamic bool, share float64) {
		if at < len(shapes) {
			of := p.at(shapes[at], dynamic)
			all = append(all, batch.Request{Name: p.Name, Operator: p.Operator, Request: of, Share: share})
		}
	}
	for i := range max(len(p.Samples), len(p.HeldOut)) {
		add(p.Samples, i, true, 1)
		add(p.HeldOut, i, false, 1)
	}
	for i := range p.Samples {
		add(p.Samples, i, false, policy.lastShare)
	}
	return all
}

func (t *tuning) search(ctx context.Context, opener *devices.Opener) error {
	o := batch.Options{Search: t.Search, AnyTarget: true, Store: t.Store, Tool: t.Tool}
	o.Search.Gating = final.GateNone // Tune runs the gates for the entries alone
	if t.Budget > 0 {
		o.Budget = t.remaining(policy.forTimings)
	}
	o.Found = func(r batch.Request, result *tuner.Result, best bestconfig.Document) error {
		if result.Stop == tuner.Interrupted || !best.Found() {
			return nil
		}
		shape, dynamic := operator.FormatShape(r.Shape), len(r.Free) > 0
		if t.tried[key(r.Shape, dynamic)] = triedIn(result); !dynamic {
			t.own[shape] = best.Configuration
		}
		t.step("searched " + shape)
		return nil
	}
	o.Failed = func(r batch.Request, err error) {
		t.step(operator.FormatShape(r.Shape) + " has no winner")
		if !errors.Is(err, batch.ErrNoTime) || !has(t.Samples, r.Shape) { // a sample is timed without a search, too
			t.leaveOut(r.Shape, err)
		}
	}
	err := batch.Search(ctx, opener, t.requests(), o)
	var some *batch.NotAllError
	switch {
	case !errors.As(err, &some):
		return err
	case some.Some:
		return nil
	}
	return t.noneLeft("no shape has a winner")
}
