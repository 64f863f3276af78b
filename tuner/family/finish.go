package family

import (
	"context"
	"math"
	"slices"
	"time"

	"autotune/space"
	"autotune/tuner/trial"
)

// easily is the part of the slowdown allowed beyond which a tree grows deeper.
const easily = 0.5

// finish grows the tree over the chosen candidates and writes the document.
func (t *tuning) finish(ctx context.Context, chosen []int) (*Family, error) {
	first := t.samples[0].problem
	subject, err := t.subject(ctx, t.samples[0].Shape)
	if err != nil {
		return nil, err
	}
	reference, err := first.ReferenceDigest()
	if err != nil {
		return nil, err
	}
	f := &Family{
		Schema: Schema, Tool: t.Tool, Operator: t.plan.Operator.Name, Shapes: t.plan.Shapes.String(), Dimensions: t.plan.Operator.Shape,
		Fixed: map[string]int64{}, Free: t.plan.Request.Free, Parameters: first.Parameters, Math: first.Math, MathBy: first.MathBy,
		Device: subject.Device.Info(), Target: subject.Device.Arch(), Conditions: subject.Protocol.Conditions, Reference: reference,
		MaxSlowdown: t.MaxSlowdown, LeftOut: t.leftOut, At: time.Now().UTC(),
	}
	for i, name := range f.Dimensions {
		if !slices.Contains(f.Free, name) {
			f.Fixed[name] = t.plan.Shapes[i].Low()
		}
	}
	for _, c := range chosen {
		e := t.candidates[c].Entry
		p, err := t.plan.Operator.Bind(t.plan.at(e.Shape, true), subject.Problem.Limits)
		if err != nil {
			return nil, err
		}
		k, err := p.Kernel(e.Configuration)
		if err != nil {
			return nil, err
		}
		e.Digest = k.Digest()
		f.Entries = append(f.Entries, e)
	}
	if err := t.choose(f, chosen); err != nil {
		return nil, err
	}
	if err := t.regret(f, chosen); err != nil {
		return nil, err
	}
	f.Seconds = time.Since(t.started).Seconds()
	return f, nil
}

// gardenOf is the garden of the samples by some rounds of their timings.
func (t *tuning) gardenOf(chosen []int, rounds func(lap) float64) *garden {
	var shapes [][]int64
	for _, s := range t.samples {
		shapes = append(shapes, t.freeOf(s.Shape))
	}
	return newGarden(t.plan.Request.Free, shapes, slowdownsOf(t.samples, chosen, rounds), generalOf(t.samples, rounds))
}

// freeOf are the free dimensions of a shape.
func (t *tuning) freeOf(shape []int64) (values []int64) {
	for i, name := range t.plan.Operator.Shape {
		if slices.Contains(t.plan.Request.Free, name) {
			values = append(values, shape[i])
		}
	}
	return values
}

// choose grows the tree and compares it with the templates' estimates: each sample by a tree that
// is grown from the others. The better one is what the family goes by.
func (t *tuning) choose(f *Family, chosen []int) error {
	g := t.gardenOf(chosen, wholly)
	var limit float64
	f.Tree, limit = g.plant(1 + easily*(t.MaxSlowdown-1))
	depth := f.Tree.depth()
	var left []float64
	for i, s := range t.samples {
		e, err := t.chosen(ByTree, g.plantWithout(i, depth, limit), s, chosen)
		if err != nil {
			return err
		}
		left = append(left, g.slowdown(i, e))
	}
	f.By, f.Choosers = ByTree, map[Chooser]Score{ByTree: score(left)}
	var estimated []float64
	for i, s := range t.samples {
		e, ok, err := t.leastEstimate(s, chosen)
		if err != nil {
			return err
		}
		if !ok {
			return nil // a template has none
		}
		estimated = append(estimated, g.slowdown(i, e))
	}
	by := score(estimated)
	f.Choosers[ByEstimate] = by
	if tree := f.Choosers[ByTree]; by.before(tree) {
		f.By = ByEstimate
	}
	return nil
}

// apart is by how much one worst slowdown must be below another to be better.
const apart = 1.01

// before tells whether a score is better: by the worst, then by the mean.
func (s Score) before(other Score) bool {
	if s.Worst*apart < other.Worst || other.Worst*apart < s.Worst {
		return s.Worst < other.Worst
	}
	return s.Mean < other.Mean
}

// slowdown is that of an entry at a sample; -1: of the general kernel.
func (g *garden) slowdown(sample, entry int) float64 {
	if entry < 0 {
		return g.general[sample]
	}
	return g.slow[sample][entry]
}

// taken is the entry that a leaf takes for a shape: the first that serves it. -1: the general
// kernel.
func (t *tuning) taken(leaf *Node, s *timed, chosen []int) int {
	for _, e := range leaf.Entries {
		if t.candidates[chosen[e]].serves(s.problem) {
			return e
		}
	}
	return -1
}

// leastEstimate is the entry with the least estimate of those that serve the shape; not ok: an
// entry's template has no estimate.
func (t *tuning) leastEstimate(s *timed, chosen []int) (entry int, ok bool, err error) {
	entry, least := -1, math.Inf(1)
	for at, c := range chosen {
		e := &t.candidates[c]
		if template, _ := t.plan.Operator.Template(e.Template); template.Estimate == nil {
			return -1, false, nil
		}
		if !e.serves(s.problem) {
			continue
		}
		x, err := s.problem.Estimate(e.Configuration)
		if err != nil {
			return -1, false, err
		}
		if x < least {
			entry, least = at, x
		}
	}
	return entry, true, nil
}

// score summarises slowdowns.
func score(all []float64) (s Score) {
	sum := 0.0
	for _, x := range all {
		s.Worst, sum = max(s.Worst, x), sum+math.Log(x)
	}
	if s.Of = len(all); s.Of > 0 {
		s.Mean = math.Exp(sum / float64(s.Of))
	}
	return s
}

// regret fills in what was measured, and how the chooser does at it.
func (t *tuning) regret(f *Family, chosen []int) error {
	var err error
	if f.Samples, err = t.shown(f, t.samples, chosen); err != nil {
		return err
	}
	if f.HeldOut, err = t.shown(f, t.heldOut, chosen); err != nil {
		return err
	}
	f.Regret.Score, f.Regret.Samples = scoreOf(f.HeldOut), scoreOf(f.Samples)
	if err := t.inLeaves(f); err != nil {
		return err
	}
	return t.flips(f, chosen)
}

func scoreOf(list []Sample) Score {
	var all []float64
	for _, s := range list {
		all = append(all, s.Slowdown)
	}
	return score(all)
}

// shown are shapes as the document has them.
func (t *tuning) shown(f *Family, list []*timed, chosen []int) (all []Sample, err error) {
	all = []Sample{}
	for _, s := range list {
		one := Sample{Shape: s.Shape, Configuration: s.Made, OwnFixed: true}
		best := s.ownBest(wholly)
		if one.OwnBest = s.Own.timing(); s.Own.ms(wholly) > best {
			one.OwnBest, one.Configuration, one.OwnFixed = s.General.timing(), space.Configuration{Template: generalTemplate}, false
		}
		for at, l := range s.Laps {
			if !one.OwnFixed && l.ms(wholly) == best {
				one.OwnBest, one.Configuration = l.timing(), t.candidates[s.Candidates[at]].Configuration
			}
		}
		if s.General.Status == trial.OK {
			general := s.General.timing()
			one.General = &general
		}
		for _, c := range chosen {
			var time *trial.Timing
			if l := s.Laps[slices.Index(s.Candidates, c)]; l.Status == trial.OK {
				timing := l.timing()
				time = &timing
			}
			one.Times = append(one.Times, time)
		}
		if one.Chosen, err = t.chosen(f.By, f.Tree, s, chosen); err != nil {
			return nil, err
		}
		one.Slowdown = min(s.General.ms(wholly)/best, unserved)
		if one.Chosen >= 0 {
			one.Slowdown = s.ms(chosen[one.Chosen], wholly) / best
		}
		all = append(all, one)
	}
	return all, nil
}

// chosen is the entry that a chooser takes for a shape.
func (t *tuning) chosen(by Chooser, tree *Node, s *timed, chosen []int) (int, error) {
	if by == ByEstimate {
		e, _, err := t.leastEstimate(s, chosen)
		return e, err
	}
	leaf, err := tree.Leaf(s.problem.Values)
	if err != nil {
		return -1, err
	}
	return t.taken(leaf, s, chosen), nil
}

// inLeaves tells how each leaf does.
func (t *tuning) inLeaves(f *Family) (err error) {
	f.Tree.Walk(func(leaf *Node, where string) {
		row := Leaf{Where: where, Entries: append([]int{}, leaf.Entries...)}
		var regrets, general []float64
		for i, s := range slices.Concat(t.samples, t.heldOut) {
			got, fault := f.Tree.Leaf(s.problem.Values)
			if err = fault; err != nil || got != leaf {
				continue
			}
			shown := slices.Concat(f.Samples, f.HeldOut)[i]
			if i < len(t.samples) {
				row.Samples++
			} else {
				regrets = append(regrets, shown.Slowdown)
			}
			if shown.General != nil {
				general = append(general, shown.General.Median/(shown.Slowdown*shown.OwnBest.Median))
			}
		}
		row.Score, row.General = score(regrets), score(general).Mean
		f.Regret.InLeaf = append(f.Regret.InLeaf, row)
	})
	return err
}

// flips counts the shapes at which trees that are grown from one round of timings each choose
// differently.
func (t *tuning) flips(f *Family, chosen []int) error {
	var trees [2]*Node
	for n := range trees {
		trees[n], _ = t.gardenOf(chosen, round(n)).plant(1 + easily*(t.MaxSlowdown-1))
	}
	for _, s := range slices.Concat(t.samples, t.heldOut) {
		one, err := t.chosen(ByTree, trees[0], s, chosen)
		if err != nil {
			return err
		}
		other, err := t.chosen(ByTree, trees[1], s, chosen)
		if err != nil {
			return err
		}
		if f.Regret.FlipOf++; one != other {
			f.Regret.Flips++
		}
	}
	return nil
}
