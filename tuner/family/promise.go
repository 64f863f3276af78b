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
// each. A look takes a processor some 0.15 s where templates have many tunables.
const (
	mostLooked = 64
	lookTime   = 2 * time.Second
	mostLikely = 4
	fewTrials  = 8 // a search with fewer tells little of its shape
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

// look is a shape at which estimates are looked at.
type look struct {
	problem *operator.Problem
	space   *space.Space
	likely  []space.Configuration // what promises most
}

// fill finds what promises most. A shape without configurations stays empty.
func (l *look) fill(ctx context.Context, r rates) (err error) {
	if l.space, err = l.problem.Space(ctx); err != nil {
		return ctx.Err()
	}
	expected, err := strategy.Expect(l.space, 1, func(id int64) (float64, bool, error) { return r.promise(l.problem, l.space.At(id)) })
	l.likely = lists.Of(expected.Likely(l.space, mostLikely), l.space.At)
	return err
}

// slowdowns are those that configurations promise, against the best promise.
func (l *look) slowdowns(r rates, all []space.Configuration) ([]float64, error) {
	row, least := slices.Repeat([]float64{math.Inf(1)}, len(all)), math.Inf(1)
	for i, c := range all {
		if _, serves := l.space.Index(c); !serves {
			continue
		}
		if ms, ok, err := r.promise(l.problem, c); err != nil {
			return nil, err
		} else if ok {
			row[i], least = ms, min(least, ms)
		}
	}
	return lists.Of(row, func(ms float64) float64 { return ms / least }), nil
}

// promised are configurations that promise to be faster at shapes with few trials than all that are known, as many as
// asked for at most. Each is worth an entry. Behind them are others for the same shapes, since an estimate may err.
func (t *tuning) promised(ctx context.Context, problems []*operator.Problem, known []space.Configuration, most int) ([]space.Configuration, error) {
	rates, err := t.rates(problems[:len(t.plan.Samples)])
	if err != nil || len(rates) == 0 {
		return nil, err
	}
	var looks []look
	for _, p := range problems {
		shape := p.Record().Shape
		if len(t.trials[key(shape, true)])+len(t.trials[key(shape, false)]) < fewTrials {
			looks = append(looks, look{problem: p})
		}
	}
	looks = looks[:min(len(looks), mostLooked)]
	if t.Budget > 0 {
		looks = looks[:min(len(looks), int(t.Budget/lookTime))]
	}
	if err := sideBySide(len(looks), func(i int) error { return looks[i].fill(ctx, rates) }); err != nil {
		return nil, err
	}
	looks = lists.Where(looks, func(l look) bool { return len(l.likely) > 0 })
	var all []space.Configuration // the known first
	seen := map[string]bool{}
	for _, c := range slices.Concat(known, slices.Concat(lists.Of(looks, func(l look) []space.Configuration { return l.likely })...)) {
		if !seen[c.Key()] {
			all, seen[c.Key()] = append(all, c), true
		}
	}
	slow := make(slowdowns, len(looks))
	err = sideBySide(len(looks), func(i int) (err error) {
		slow[i], err = looks[i].slowdowns(rates, all)
		return err
	})
	if err != nil {
		return nil, err
	}
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
