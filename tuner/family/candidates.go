package family

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner"
	"autotune/tuner/bestconfig"
)

// What bounds the kernels that are timed everywhere.
const (
	mostConfigurations  = 48
	leastConfigurations = 8
	mostCandidates      = 240                   // kernels: a configuration may be compiled for each alignment
	leastTiming         = 20 * time.Millisecond // of a kernel at a sample
	nearBest            = 1.08                  // how many times the fastest of its search a candidate may take
	mostNear            = 16                    // of one search
)

// tried is a configuration that a search found right, with its time as so many times the fastest's.
type tried struct {
	space.Configuration
	Ratio float64
}

// triedIn are those of a search, the fastest first.
func triedIn(r *tuner.Result) (all []tried) {
	ok := lists.Where(r.Trials, func(t trial.Trial) bool { return t.Status == trial.OK && t.Time.Median > 0 })
	slices.SortStableFunc(ok, func(a, b trial.Trial) int { return cmp.Compare(a.Time.Median, b.Time.Median) })
	for _, t := range ok {
		all = append(all, tried{t.Configuration, t.Time.Median / ok[0].Time.Median})
	}
	return all
}

// near are those hardly slower than the fastest of their search. Any of them may be the fastest at another shape.
func near(all []tried) []tried {
	for i, one := range all {
		if i == mostNear || one.Ratio > nearBest {
			return all[:i]
		}
	}
	return all
}

// remembers names what a search tried in the run.
func remembers(best bestconfig.Document) string {
	digest := sha256.Sum256(fmt.Appendf(nil, "%v %s", best.Problem, best.KernelDigest))
	return fmt.Sprintf("tried-%x", digest[:8])
}

// gather lists the kernels that may be entries: what won the samples' searches, or was hardly slower. Each is compiled
// for all samples, apart where one kernel does not serve them all.
func (t *tuning) gather(ctx context.Context) error {
	var problems []*operator.Problem
	for _, shape := range t.plan.Samples {
		s, err := t.subject(ctx, shape)
		if err != nil {
			return err
		}
		problems = append(problems, s.Problem)
	}
	most := mostConfigurations
	if t.Budget > 0 {
		most = min(most, max(leastConfigurations, int(t.clock.remaining()/leastTiming)/len(t.plan.Samples)))
	}
	configurations := t.shortlist(problems, most)
	kernels := make([][]candidate, len(configurations))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, c := range configurations {
		group.Go(func() (err error) {
			kernels[i], err = kernelsOf(problems, c)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, some := range kernels {
		if len(t.candidates)+len(some) <= mostCandidates {
			t.candidates = append(t.candidates, some...)
		}
	}
	return nil
}

// shortlist are configurations of templates that can take the free dimensions: the fastest of each search of a sample,
// then what came nearest to them at the most samples.
func (t *tuning) shortlist(samples []*operator.Problem, most int) (all []space.Configuration) {
	var others []space.Configuration
	worth := map[string]float64{}
	for i, p := range samples {
		for _, free := range []bool{true, false} {
			usable := lists.Where(t.trials[key(t.plan.Samples[i], free)], func(r tried) bool { return t.canFree(r.Template) && p.Admits(r.Configuration) })
			for at, r := range near(usable) {
				if worth[r.Key()] += nearBest - r.Ratio; at == 0 {
					all = append(all, r.Configuration)
				} else {
					others = append(others, r.Configuration)
				}
			}
		}
	}
	slices.SortStableFunc(others, func(a, b space.Configuration) int { return cmp.Compare(worth[b.Key()], worth[a.Key()]) })
	seen := map[string]bool{}
	all = lists.Where(append(all, others...), func(c space.Configuration) bool {
		known := seen[c.Key()]
		seen[c.Key()] = true
		return !known
	})
	return all[:min(len(all), most)]
}

// canFree tells whether a template can take the free dimensions.
func (t *tuning) canFree(name string) bool {
	template, known := t.plan.Operator.Template(name)
	return known && containsAll(template.Free, t.plan.Request.Free)
}

// kernelsOf are a configuration as it is compiled for problems: once for all that one kernel serves.
func kernelsOf(problems []*operator.Problem, c space.Configuration) (all []candidate, err error) {
	for _, p := range problems {
		served := slices.ContainsFunc(all, func(one candidate) bool { return one.serves(p) })
		if served || !p.Admits(c) {
			continue
		}
		one, err := candidateAt(p, c)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// candidateAt is a configuration as it is compiled for a problem.
func candidateAt(p *operator.Problem, c space.Configuration) (one candidate, err error) {
	one.Configuration, one.Shape = c, p.Record().Shape
	if one.formulas, err = p.Formulas(c); err != nil {
		return one, err
	}
	one.Where = lists.Of(one.formulas.Where, func(f operator.Formula) string { return f.Text })
	return one, nil
}
