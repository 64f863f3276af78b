package family

import (
	"cmp"
	"context"
	"slices"
	"time"

	"autotune/reports"
)

// What bounds the kernels that are timed on every sample.
const (
	mostCandidates = 24
	leastOwns      = 8                      // of kernels that won where they were made for the shape
	leastTiming    = 100 * time.Millisecond // of a kernel at a sample
)

// option is a kernel that may be a candidate, with the searches that it won, alone or together with others.
type option struct {
	candidate
	won   map[string]bool
	taken bool
}

// options are what candidates are taken from.
type options []*option

// gather lists the kernels that may be entries. One at least won each search for kernels that take the
// dimensions, alone or together with others. The same holds, as far as there is time, of searches for kernels
// made for the shape, whose templates can take them. Last come the others.
func (t *tuning) gather(ctx context.Context) error {
	most := mostCandidates
	if t.Budget > 0 {
		most = min(most, int(t.clock.remaining()/leastTiming)/max(1, len(t.plan.Samples)))
	}
	var all options
	open := map[string]bool{} // searches that no candidate won
	for _, free := range []bool{true, false} {
		for _, shape := range t.plan.Samples {
			best, ok := t.found[key(shape, free)]
			if !ok || !t.canFree(best.Template) {
				continue
			}
			if err := t.enlist(ctx, &all, best); err != nil {
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
	slices.SortStableFunc(all, func(a, b *option) int { return cmp.Compare(len(b.won), len(a.won)) })
	for _, o := range all {
		if !o.taken && len(t.candidates) < most {
			t.candidates = append(t.candidates, o.candidate)
		}
	}
	return nil
}

// canFree tells whether a template can take the free dimensions.
func (t *tuning) canFree(name string) bool {
	template, known := t.plan.Operator.Template(name)
	return known && containsAll(template.Free, t.plan.Request.Free)
}

// enlist adds what won a search to the options.
func (t *tuning) enlist(ctx context.Context, all *options, best reports.BestConfig) error {
	shape, search := best.Problem.Shape, key(best.Problem.Shape, len(best.Problem.Free) > 0)
	subject, err := t.subject(ctx, shape)
	if err != nil {
		return err
	}
	winners := []Entry{{Configuration: best.Configuration, Shape: shape}}
	if len(best.Problem.Free) > 0 {
		winners[0].Gates = best.Gates
	}
	for _, tie := range best.Ties {
		winners = append(winners, Entry{Configuration: tie.Configuration, Shape: shape})
	}
	for _, e := range winners {
		if !subject.Problem.Admits(e.Configuration) {
			continue
		}
		formulas, err := subject.Problem.Formulas(e.Configuration)
		if err != nil {
			return err
		}
		for _, f := range formulas.Where {
			e.Where = append(e.Where, f.Text)
		}
		all.add(candidate{Entry: e, formulas: formulas}, search)
	}
	return nil
}

// add adds a kernel that won a search. Where it is there, the one that went through the gates stays.
func (all *options) add(c candidate, search string) {
	at := slices.IndexFunc(*all, func(o *option) bool { return o.same(c) })
	if at < 0 {
		at = len(*all)
		*all = append(*all, &option{candidate: c, won: map[string]bool{}})
	}
	o := (*all)[at]
	if o.won[search] = true; !o.taken && o.Gates == nil && c.Gates != nil {
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
