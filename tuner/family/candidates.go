package family

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"autotune/internal/lists"
	"autotune/reports"
	"autotune/space"
	"autotune/tuner/final"
	"autotune/tuner/operator"
)

// What bounds the kernels that are timed on every sample.
const (
	mostCandidates = 24                     // in the mean of the samples
	mostNear       = 6                      // that a sample takes beyond those that searches need
	leastOwns      = 8                      // of kernels that won where they were made for the shape
	leastTiming    = 100 * time.Millisecond // of a kernel at a sample
)

// option is a kernel that may be a candidate, with the searches that it won, alone or together with others.
type option struct {
	candidate
	won    map[string]bool
	at     [][]int64 // the shapes of those
	serves []int     // samples
	taken  bool
}

// options are what candidates are taken from.
type options []*option

// gather lists the kernels that may be entries. One at least won each search for kernels that take the
// dimensions, alone or together with others. The same holds, as far as there is time, of searches for kernels
// made for the shape, whose templates can take them. What won is compiled anew for samples that it does not serve as
// it is compiled. Of all those, each sample in turn takes the one that won nearest to it.
func (t *tuning) gather(ctx context.Context) error {
	most := mostCandidates
	if t.Budget > 0 {
		most = min(most, int(t.clock.remaining()/leastTiming)/max(1, len(t.plan.Samples)))
	}
	problems, err := t.problems(ctx)
	if err != nil {
		return err
	}
	var all options
	open := map[string]bool{} // searches that no candidate won
	for _, free := range []bool{true, false} {
		for i, shape := range t.plan.Samples {
			best, ok := t.found[key(shape, free)]
			if !ok || !t.canFree(best.Template) {
				continue
			}
			if err := all.enlist(problems[i], best); err != nil {
				return err
			}
			open[key(shape, free)] = true
		}
		enough := mostSamples
		if !free {
			enough = max(most, len(t.candidates)+leastOwns)
		}
		t.candidates = all.cover(open, t.candidates, enough)
	}
	if err := all.spread(problems); err != nil {
		return err
	}
	t.candidates = all.nearest(t.plan.Samples, t.candidates, most*len(problems))
	return nil
}

// problems are those of the samples, with free dimensions.
func (t *tuning) problems(ctx context.Context) (all []*operator.Problem, err error) {
	for _, shape := range t.plan.Samples {
		s, err := t.subject(ctx, shape)
		if err != nil {
			return nil, err
		}
		all = append(all, s.Problem)
	}
	return all, nil
}

// canFree tells whether a template can take the free dimensions.
func (t *tuning) canFree(name string) bool {
	template, known := t.plan.Operator.Template(name)
	return known && containsAll(template.Free, t.plan.Request.Free)
}

// enlist adds what won a search to the options.
func (all *options) enlist(p *operator.Problem, best reports.BestConfig) error {
	search := key(best.Problem.Shape, len(best.Problem.Free) > 0)
	for i, c := range slices.Concat([]space.Configuration{best.Configuration}, lists.Of(best.Ties, configurationOf)) {
		if !p.Admits(c) {
			continue
		}
		one, err := candidateAt(p, c)
		if err != nil {
			return err
		}
		if i == 0 && len(best.Problem.Free) > 0 {
			one.Gates = best.Gates
		}
		all.add(one, search)
	}
	return nil
}

func configurationOf(c final.Contender) space.Configuration { return c.Configuration }

// candidateAt is a configuration as it is compiled for a problem.
func candidateAt(p *operator.Problem, c space.Configuration) (one candidate, err error) {
	one.Configuration, one.Shape = c, p.Record().Shape
	if one.formulas, err = p.Formulas(c); err != nil {
		return one, err
	}
	one.Where = lists.Of(one.formulas.Where, func(f operator.Formula) string { return f.Text })
	return one, nil
}

// spread compiles the configurations of candidates for samples that they do not serve as they are compiled.
func (all *options) spread(problems []*operator.Problem) error {
	taken := lists.Where(*all, func(o *option) bool { return o.taken })
	for i, p := range problems {
		for _, o := range *all {
			o.servesAt(i, p)
		}
		for _, o := range taken {
			c := o.Configuration
			served := func(other *option) bool {
				return other.Configuration.Key() == c.Key() && slices.Contains(other.serves, i)
			}
			if slices.ContainsFunc(*all, served) || !p.Admits(c) {
				continue
			}
			one, err := candidateAt(p, c)
			if err != nil {
				return err
			}
			more := &option{candidate: one, won: map[string]bool{}}
			for at, other := range problems[:i+1] {
				more.servesAt(at, other)
			}
			*all = append(*all, more)
		}
	}
	return nil
}

// servesAt takes note of a sample if the option serves it.
func (o *option) servesAt(sample int, p *operator.Problem) {
	if o.candidate.serves(p) {
		o.serves = append(o.serves, sample)
	}
}

// nearest takes options while there are laps for them, one at each sample that they serve. Each sample in turn takes
// the option whose configuration won a search nearest to it.
func (all options) nearest(shapes [][]int64, candidates []candidate, laps int) []candidate {
	won := map[string][][]int64{} // shapes, by configuration
	for _, o := range all {
		won[o.Configuration.Key()] = append(won[o.Configuration.Key()], o.at...)
		if o.taken {
			laps -= len(o.serves)
		}
	}
	queues := make([]options, len(shapes)) // by sample
	for i, shape := range shapes {
		away := map[*option]float64{}
		for _, o := range all {
			if slices.Contains(o.serves, i) {
				queues[i], away[o] = append(queues[i], o), nearestOf(shape, won[o.Configuration.Key()])
			}
		}
		slices.SortStableFunc(queues[i], func(a, b *option) int { return cmp.Compare(away[a], away[b]) })
	}
	for range mostNear {
		for i, queue := range queues {
			queue = slices.DeleteFunc(queue, func(o *option) bool { return o.taken || len(o.serves) > laps })
			if queues[i] = queue; len(queue) > 0 {
				queue[0].taken = true
				candidates, laps = append(candidates, queue[0].candidate), laps-len(queue[0].serves)
			}
		}
	}
	return candidates
}

// nearestOf is how far the nearest of some shapes is from one: a factor of two in a dimension counts one.
func nearestOf(shape []int64, others [][]int64) float64 {
	least := math.Inf(1)
	for _, other := range others {
		away := 0.0
		for i := range shape {
			away += math.Abs(math.Log2(float64(shape[i]) / float64(other[i])))
		}
		least = min(least, away)
	}
	return least
}

// add adds a kernel that won a search. Where it is there, the one that went through the gates stays.
func (all *options) add(c candidate, search string) {
	at := slices.IndexFunc(*all, func(o *option) bool { return o.same(c) })
	if at < 0 {
		at = len(*all)
		*all = append(*all, &option{candidate: c, won: map[string]bool{}})
	}
	o := (*all)[at]
	if !o.won[search] {
		o.won[search], o.at = true, append(o.at, c.Shape)
	}
	if !o.taken && o.Gates == nil && c.Gates != nil {
		o.candidate = c
	}
}

// cover takes options until no search is open that one of them won, or there are enough candidates. The
// one of most open searches comes first, then of most searches.
func (all options) cover(open map[string]bool, candidates []candidate, enough int) []candidate {
	for _, o := range all {
		o.close(open)
	}
	for len(candidates) < enough {
		var best *option
		most := 0
		for _, o := range all {
			n := 0
			for search := range o.won {
				if open[search] {
					n++
				}
			}
			if n > 0 && (best == nil || cmp.Or(cmp.Compare(n, most), cmp.Compare(len(o.won), len(best.won))) > 0) {
				best, most = o, n
			}
		}
		if best == nil {
			break
		}
		candidates, best.taken = append(candidates, best.candidate), true
		best.close(open)
	}
	return candidates
}

// close has the searches closed that an option won, if it was taken.
func (o *option) close(open map[string]bool) {
	for search := range o.won {
		if o.taken {
			delete(open, search)
		}
	}
}
