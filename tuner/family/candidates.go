package family

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"autotune/internal/lists"
	"autotune/operator"
	"autotune/space"
)

// candidate is a kernel that takes the dynamic dimensions at run time and may become an entry of the family.
type candidate struct {
	Entry
	formulas operator.Formulas // formulas for Entry.Where and for the launches
	out      bool              // it failed at a shape or a gate
}

// serves reports whether the candidate computes the problem p correctly, although it was compiled for another shape.
func (c *candidate) serves(p *operator.Problem) bool {
	_, ok := c.formulas.At(p.Values)
	return ok && p.Admits(c.Configuration)
}

// gather returns the candidates of a family: kernels that won the search of a sample, or were nearly as fast as its
// winner. A configuration has several kernels if no single kernel serves all samples.
func (t *tuning) gather(ctx context.Context) (all []candidate, err error) {
	var problems []*operator.Problem
	for _, shape := range t.Samples {
		s, err := t.subject(ctx, shape)
		if err == nil {
			problems = append(problems, s.Problem)
		} else if !ofShape(err) {
			return nil, err
		}
	}
	most := policy.mostConfigurations
	if t.Budget > 0 {
		affordable := int(t.remaining(0)/policy.leastTiming) / max(1, len(problems))
		most = min(most, max(policy.leastConfigurations, affordable))
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
		return nil, err
	}
	for _, some := range kernels {
		if len(all)+len(some) <= policy.mostCandidates {
			all = append(all, some...)
		}
	}
	if len(all) == 0 {
		return nil, t.noneLeft(fmt.Sprintf("no sample has a kernel that takes %v when it runs", t.Free))
	}
	return all, nil
}

// shortlist returns configurations that can take the dynamic dimensions: first the winners of all searches of samples,
// then the configurations that were nearly as fast as the winner at the most samples.
func (t *tuning) shortlist(samples []*operator.Problem, most int) (all []space.Configuration) {
	var winners, others []space.Configuration
	worth := map[string]float64{}
	for _, sample := range samples {
		for _, dynamic := range []bool{true, false} {
			usable := lists.Where(t.tried[key(sample.Shape, dynamic)], func(r tried) bool {
				template, known := t.Operator.Template(r.Template)
				return known && containsAll(template.Free, t.Free) && sample.Admits(r.Configuration)
			})
			for at, r := range near(usable) {
				if worth[r.Key()] += policy.nearBest - r.Ratio; at == 0 {
					winners = append(winners, r.Configuration)
				} else {
					others = append(others, r.Configuration)
				}
			}
		}
	}
	slices.SortStableFunc(others, func(a, b space.Configuration) int { return cmp.Compare(worth[b.Key()], worth[a.Key()]) })
	seen := map[string]bool{}
	for _, c := range append(winners, others...) {
		if len(all) < most && !seen[c.Key()] {
			seen[c.Key()], all = true, append(all, c)
		}
	}
	return all
}

func containsAll(list, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(list, name) })
}

// near returns the configurations that are nearly as fast as the fastest one of a search, since each of them may be the
// fastest at another shape.
func near(all []tried) []tried {
	return lists.Where(all[:min(len(all), policy.mostNear)], func(t tried) bool { return t.Ratio <= policy.nearBest })
}

// kernelsOf compiles one configuration for as few of the problems as possible, so that together the resulting kernels
// serve all problems.
func kernelsOf(problems []*operator.Problem, c space.Configuration) (all []candidate, err error) {
	for _, p := range problems {
		if !p.Admits(c) || slices.ContainsFunc(all, func(one candidate) bool { return one.serves(p) }) {
			continue
		}
		one := candidate{Entry: Entry{Configuration: c, Shape: p.Shape}}
		one.formulas, err = p.Formulas(c)
		k, fault := p.Kernel(c)
		if err = cmp.Or(err, fault); err != nil {
			return nil, err
		}
		one.Digest = k.Digest()
		one.Where = lists.Of(one.formulas.Where, func(f operator.Formula) string { return f.Text })
		all = append(all, one)
	}
	return all, nil
}
