package tuner

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"autotune/device"
	"autotune/device/compile"
	"autotune/internal/lists"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner/strategy"
)

// similar returns the records of the cache's winners for the same operator on the same device. The record of the same
// problem is left out if it has the provenance of this search, which in that case resumes the problem's trials.
func similar(book *ledger) (records []Record, warnings []string, err error) {
	winners, err := book.store.Winners(book.id.Operator(), book.id.Device)
	if err != nil {
		return nil, nil, fmt.Errorf("start from the cache's winners: %w", err)
	}
	for _, w := range winners {
		var r Record
		same := w.Problem == book.id
		if json.Unmarshal(w.Result, &r) != nil || r.Winner == nil || same && book.same(w.Provenance) {
			continue
		}
		if same {
			how := book.difference(w.Provenance)
			warnings = append(warnings, fmt.Sprintf("the cached winner was measured %s: it is tried first", how))
		}
		records = append(records, r)
	}
	return records, warnings, nil
}

// nearestWinners returns the winners of the problems that are most similar to the searched one, as configurations of
// the search's space, and the names of these problems.
func nearestWinners(records []Record, here Record, sp *space.Space) (ids []int64, from []string) {
	slices.SortStableFunc(records, func(a, b Record) int { return cmp.Compare(distance(here, a), distance(here, b)) })
	for _, r := range records {
		if len(from) == policy.warm {
			break
		}
		id, ok := closest(sp, r.Winner.Configuration)
		if !ok {
			continue
		}
		origin := r.Problem.Text
		if c := r.Protocol.Conditions; c != here.Protocol.Conditions {
			origin = fmt.Sprintf("%s (%s)", origin, c)
		}
		from = append(from, origin)
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, from
}

// closest returns the configuration of a space that is nearest to c, the winner of another problem; if c is valid in
// the space, closest returns c.
func closest(sp *space.Space, c space.Configuration) (int64, bool) {
	if id, ok := sp.Index(c); ok {
		return id, true
	}
	for i, part := range sp.Parts() {
		if part.Template != c.Template {
			continue
		}
		positions := make([]float64, len(part.Tunables))
		for at, tunable := range part.Tunables {
			v, known := c.Get(tunable.Name)
			rank := slices.IndexFunc(tunable.Values, v.Equal)
			if !known || rank < 0 || len(tunable.Values) < 2 {
				continue // the tunable keeps its first value
			}
			positions[at] = float64(rank) / float64(len(tunable.Values)-1)
		}
		return sp.Nearest(i, positions)
	}
	return 0, false
}

// distance returns a measure of how much the problems of two searches differ. In distance, a dimension that differs by
// a factor of two counts as 1, and so does a different parameter, math mode or condition of timing.
func distance(x, y Record) float64 {
	a, b, d := x.Problem, y.Problem, 0.0
	if x.Protocol.Conditions != y.Protocol.Conditions {
		d++
	}
	for i := range min(len(a.Shape), len(b.Shape)) {
		d += math.Abs(math.Log2(float64(a.Shape[i]) / float64(b.Shape[i])))
	}
	for _, p := range a.Parameters {
		if !slices.Contains(b.Parameters, p) {
			d++
		}
	}
	if a.Math != b.Math {
		d++
	}
	return d
}

func expectedOf(problem *operator.Problem, sp *space.Space, seed uint64) (*strategy.Expected, error) {
	return strategy.Expect(sp, seed, func(id int64) (float64, bool, error) {
		c := sp.At(id)
		if t, ok := problem.Operator.Template(c.Template); !ok || t.Estimate == nil {
			return 0, false, nil
		}
		x, err := problem.Estimate(c)
		return x, true, err
	})
}

// FirstCompilations returns the kernels that a search without earlier trials compiles first: the reference, then
// configurations with low estimates and some defaults.
func FirstCompilations(ctx context.Context, part *operator.Part, d device.Device, likely int) (all []compile.Request) {
	p := part.Problem
	sp, err := part.Space(ctx)
	if err != nil {
		return nil // the search reports the error
	}
	expected, err := expectedOf(p, sp, 1)
	if err != nil {
		return nil
	}
	request := compile.Request{Arch: d.Arch(), Problem: p}
	if request.Kernel, err = p.Reference(); err == nil && p.Operator.Answers == nil {
		all = append(all, request)
	}
	for _, id := range afterLikely(expected.Likely(sp, likely), indices(sp, part.Defaults(ctx)), nil, expected.Expects) {
		request.Configuration = sp.At(id)
		if request.Kernel, err = p.Kernel(request.Configuration); err == nil {
			all = append(all, request)
		}
	}
	return all
}

// indices returns the space's indices of the given configurations, without configurations that the space lacks.
func indices(sp *space.Space, all []space.Configuration) (ids []int64) {
	for _, c := range all {
		if id, ok := sp.Index(c); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// afterLikely returns the order in which a search tries its first configurations, before those that the strategy
// proposes. A search first tries the configuration with the lowest estimate, because slow variants are given up early
// once a fast one is known. After the configuration with the lowest estimate, a search tries the untuned default, which
// is the baseline of speedups, and the winners of similar problems. Before the strategy's proposals begin, a search
// tries defaults of templates without estimates, which may be fast, then the other configurations with low estimates,
// then the other defaults.
func afterLikely(likely, untuned, won []int64, expects func(id int64) bool) []int64 {
	one := func(ids []int64) int { return min(len(ids), 1) }
	others := untuned[one(untuned):]
	unknown := lists.Where(others, func(id int64) bool { return !expects(id) })
	known := lists.Where(others, expects)
	return slices.Concat(likely[:one(likely)], untuned[:one(untuned)], won, unknown, likely[one(likely):], known)
}
