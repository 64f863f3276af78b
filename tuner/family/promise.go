package family

import (
	"context"
	"math"
	"slices"
	"time"

	"autotune/internal/lists"
	"autotune/space"
	"autotune/tuner/operator"
	"autotune/tuner/strategy"
	"autotune/tuner/trial"
)

// What bounds the look at estimates: so many shapes, of a budget one for each so long, and so many configurations of
// each. It takes a tenth of a second of one processor.
const (
	mostLooked = 64
	lookTime   = 2 * time.Second
	mostLikely = 4
)

// rates are how many milliseconds a unit of estimates is: of a configuration that searches tried, by its key, and of
// others by their template, as all that they tried of it tell.
type rates map[string]float64

// rates are those that the samples' searches tell.
func (t *tuning) rates(samples []*operator.Problem) (rates, error) {
	all, found := map[string][]float64{}, rates{}
	for i, p := range samples {
		for _, free := range []bool{true, false} {
			for _, one := range t.trials[key(t.plan.Samples[i], free)] {
				if template, known := p.Operator.Template(one.Template); !known || template.Estimate == nil || !t.canFree(one.Template) {
					continue
				}
				x, err := p.Estimate(one.Configuration)
				if err != nil {
					return nil, err
				}
				for _, name := range []string{one.Key(), one.Template} {
					all[name] = append(all[name], one.MS/x)
				}
			}
		}
	}
	for name, values := range all {
		found[name] = trial.Median(values)
	}
	return found, nil
}

// promise is what a configuration is expected to take, in milliseconds. Not ok: its template has no estimate, or
// nothing of it was tried.
func (r rates) promise(p *operator.Problem, c space.Configuration) (ms float64, ok bool, err error) {
	rate, ok := r[c.Key()]
	if !ok {
		rate, ok = r[c.Template]
	}
	if !ok {
		return 0, false, nil
	}
	x, err := p.Estimate(c)
	return rate * x, true, err
}

// likely are the configurations that promise most at a shape; none: it has none.
func (r rates) likely(ctx context.Context, p *operator.Problem) ([]space.Configuration, error) {
	s, err := p.Space(ctx)
	if err != nil {
		return nil, ctx.Err()
	}
	expected, err := strategy.Expect(s, 1, func(id int64) (float64, bool, error) { return r.promise(p, s.At(id)) })
	return lists.Of(expected.Likely(s, mostLikely), s.At), err
}

// slowdowns are those that configurations promise at a shape, against the best promise; nil: there is none.
func (r rates) slowdowns(p *operator.Problem, all []space.Configuration) ([]float64, error) {
	row, least := slices.Repeat([]float64{math.Inf(1)}, len(all)), math.Inf(1)
	for i, c := range all {
		if !p.Admits(c) {
			continue
		}
		if ms, ok, err := r.promise(p, c); err != nil {
			return nil, err
		} else if ok {
			row[i], least = ms, min(least, ms)
		}
	}
	if math.IsInf(least, 1) {
		return nil, nil
	}
	return lists.Of(row, func(ms float64) float64 { return ms / least }), nil
}

// promised are configurations that promise to be faster at shapes without a search than all that are known, as many as
// asked for at most. Each is worth an entry. Behind them are others for the same shapes, since an estimate may err.
func (t *tuning) promised(ctx context.Context, problems []*operator.Problem, known []space.Configuration, most int) ([]space.Configuration, error) {
	rates, err := t.rates(problems[:len(t.plan.Samples)])
	if err != nil || len(rates) == 0 {
		return nil, err
	}
	looked := lists.Where(problems, func(p *operator.Problem) bool {
		shape := p.Record().Shape
		return len(t.trials[key(shape, true)])+len(t.trials[key(shape, false)]) == 0
	})
	looked = looked[:min(len(looked), mostLooked)]
	if t.Budget > 0 {
		looked = looked[:min(len(looked), int(t.Budget/lookTime))]
	}
	likely, slow := make([][]space.Configuration, len(looked)), make(slowdowns, len(looked))
	err = sideBySide(len(looked), func(i int) (err error) {
		likely[i], err = rates.likely(ctx, looked[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	var all []space.Configuration // the known first
	seen := map[string]bool{}
	for _, c := range slices.Concat(known, slices.Concat(likely...)) {
		if !seen[c.Key()] {
			all, seen[c.Key()] = append(all, c), true
		}
	}
	err = sideBySide(len(looked), func(i int) (err error) {
		slow[i], err = rates.slowdowns(looked[i], all)
		return err
	})
	if err != nil {
		return nil, err
	}
	slow = lists.Where(slow, func(row []float64) bool { return row != nil })
	var chosen []space.Configuration
	for {
		next := slow.extend(lists.Places(len(known)), len(known)+most-len(chosen))[len(known):]
		if len(next) == 0 {
			return chosen, nil
		}
		for _, i := range next {
			chosen = append(chosen, all[i])
			for _, row := range slow {
				row[i] = math.Inf(1)
			}
		}
	}
}
