package family

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"autotune/internal/lists"
	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/trial"
)

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
		Device: subject.Device.Info(), Target: subject.Device.Arch(), Conditions: subject.Protocol.Conditions, Protocol: subject.Protocol.Unconditioned(), Reference: reference,
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
		e.Digest, e.MaxAbsError = k.Digest(), t.maxAbsError(c)
		f.Entries = append(f.Entries, e)
	}
	t.choose(f, chosen)
	if err := t.regret(f, chosen); err != nil {
		return nil, err
	}
	f.Seconds = time.Since(t.started).Seconds()
	return f, nil
}

// maxAbsError is a candidate's largest, over all shapes.
func (t *tuning) maxAbsError(candidate int) (most float64) {
	for _, s := range slices.Concat(t.timed(), t.heldOut) {
		if at := slices.Index(s.Candidates, candidate); at >= 0 {
			most = max(most, s.Laps[at].MaxAbsError)
		}
	}
	return most
}

// gardenOf is the garden of all shapes that the choice is made from, by some rounds of their timings.
func (t *tuning) gardenOf(chosen []int, rounds func(lap) float64) *garden {
	list := t.timed()
	shapes := lists.Of(list, func(s *timed) []int64 { return t.freeOf(s.Shape) })
	return newGarden(t.plan.Request.Free, shapes, slowdownsOf(list, chosen, rounds), generalOf(list, rounds), t.groupsOf(chosen))
}

// groupsOf are the places of the candidates of each configuration. One of them serves a shape.
func (t *tuning) groupsOf(candidates []int) (groups [][]int) {
	at := map[string]int{}
	for place, c := range candidates {
		key := t.candidates[c].Configuration.Key()
		if _, known := at[key]; !known {
			at[key], groups = len(groups), append(groups, nil)
		}
		groups[at[key]] = append(groups[at[key]], place)
	}
	return groups
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

// chooser takes an entry for a shape; -1: the general kernel, also where a formula has no value.
type chooser func(s *timed) (entry int)

// choose grows the tree and finds the costs, and compares them: each shape by what is made without it. The better one
// is what the family goes by.
func (t *tuning) choose(f *Family, chosen []int) {
	g := t.gardenOf(chosen, wholly)
	var tree Score
	for _, price := range leafPrices {
		now := t.crossValidated(chosen, func(with func(int) bool) chooser {
			return byTree(g.plant(lists.Where(g.everyone(), with), price), chosen)
		})
		if tree.Of == 0 || now.before(tree) {
			tree, t.leafPrice = now, price
		}
	}
	f.By, f.Tree, f.Choosers = ByTree, g.plant(g.everyone(), t.leafPrice), map[Chooser]Score{ByTree: tree}
	times := t.timesOfAll(chosen, wholly)
	whole, ok := costs(times, anyShape)
	if !ok {
		return
	}
	cost := t.crossValidated(chosen, func(with func(int) bool) chooser {
		if others, ok := costs(times, with); ok {
			return byCost(others, chosen)
		}
		return byCost(whole, chosen)
	})
	if f.Choosers[ByCost] = cost; cost.before(tree) && cost.Mean < score(generalOf(t.timed(), wholly)).Mean {
		f.goBy(whole, g)
	}
}

func anyShape(int) bool { return true }

// sms is how many multiprocessors the device has.
func (t *tuning) sms() int64 { return int64(t.samples[0].problem.Limits.SMs) }

// timesOfAll are what the costs of the entries are made from.
func (t *tuning) timesOfAll(chosen []int, rounds func(lap) float64) []timesOf {
	return lists.Of(chosen, func(c int) timesOf { return t.timesOf(c, chosen, rounds) })
}

// goBy has the costs choose: the tree is one leaf, with what is fastest in the mean first.
func (f *Family) goBy(costs []*expr.Expr, g *garden) {
	f.By, f.Tree = ByCost, &Node{}
	for i, c := range costs {
		f.Entries[i].Cost = c.String()
	}
	for _, group := range g.order {
		f.Tree.Entries = append(f.Tree.Entries, g.groups[group]...)
	}
}

// folds are into how many parts the shapes are divided at most. Each part is told by the others.
const folds = 20

// crossValidated is how choosers do, each at shapes that it was made without.
func (t *tuning) crossValidated(chosen []int, made func(with func(shape int) bool) chooser) Score {
	list := t.timed()
	left, n := make([]float64, len(list)), min(folds, len(list))
	var folding sync.WaitGroup
	for fold := range n {
		folding.Go(func() {
			choose := made(func(shape int) bool { return shape%n != fold })
			for i := fold; i < len(list); i += n {
				left[i] = list[i].slowdown(choose(list[i]), chosen)
			}
		})
	}
	folding.Wait()
	return score(left)
}

// apart is by how much one mean must be below another to be better. The worst is a single shape's, and
// decides only between means that are as good as equal.
const apart = 1.002

// before tells whether a score is better: by the mean, then by the worst, which is one shape's.
func (s Score) before(other Score) bool {
	if s.Mean*apart < other.Mean || other.Mean*apart < s.Mean {
		return s.Mean < other.Mean
	}
	return s.Worst < other.Worst
}

// slowdown is that of an entry; -1: of the general kernel.
func (s *timed) slowdown(entry int, chosen []int) float64 {
	if entry < 0 {
		return min(s.General.ms(wholly)/s.ownBest(wholly), unserved)
	}
	return s.ms(chosen[entry], wholly) / s.ownBest(wholly)
}

// taken is the entry that a leaf takes for a shape: the first that serves it. -1: the general
// kernel.
func taken(leaf *Node, s *timed, chosen []int) int {
	for _, e := range leaf.Entries {
		if s.at(chosen[e]) != nil {
			return e
		}
	}
	return -1
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
	choose, err := t.chooserOf(f, chosen)
	if err != nil {
		return err
	}
	f.Samples, f.HeldOut = t.shown(choose, t.samples, chosen), t.shown(choose, t.heldOut, chosen)
	f.Regret.Score, f.Regret.Samples = scoreOf(f.HeldOut), scoreOf(f.Samples)
	t.atProbes(f, choose, chosen)
	t.inLeaves(f)
	t.flips(f, chosen)
	return nil
}

// atProbes fills in the probes, and how the family does there against the fastest kernel that is known.
func (t *tuning) atProbes(f *Family, choose chooser, chosen []int) {
	var all []float64
	for _, s := range t.probes {
		all = append(all, s.slowdown(choose(s), chosen))
		times := lists.Of(chosen, func(c int) float64 {
			if s.at(c) == nil {
				return 0
			}
			return s.ms(c, wholly)
		})
		f.Probes = append(f.Probes, Probe{s.Shape, s.ownBest(wholly), times})
	}
	f.Regret.Probes = score(all)
}

func scoreOf(list []Sample) Score {
	return score(lists.Of(list, func(s Sample) float64 { return s.Slowdown }))
}

// shown are shapes as the document has them.
func (t *tuning) shown(choose chooser, list []*timed, chosen []int) []Sample {
	all := []Sample{}
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
		one.Chosen = choose(s)
		one.Slowdown = s.slowdown(one.Chosen, chosen)
		all = append(all, one)
	}
	return all
}

// chooserOf is what a family goes by.
func (t *tuning) chooserOf(f *Family, chosen []int) (chooser, error) {
	if f.By == ByTree {
		return byTree(f.Tree, chosen), nil
	}
	var costs []*expr.Expr
	for _, e := range f.Entries {
		c, err := expr.Parse(e.Cost)
		if err != nil {
			return nil, err
		}
		costs = append(costs, c)
	}
	return byCost(costs, chosen), nil
}

func byTree(tree *Node, chosen []int) chooser {
	return func(s *timed) int {
		leaf, err := tree.Leaf(s.problem.Values)
		if err != nil {
			return -1
		}
		return taken(leaf, s, chosen)
	}
}

func byCost(costs []*expr.Expr, chosen []int) chooser {
	return func(s *timed) int { return leastCost(costs, s, chosen) }
}

// inLeaves tells how each leaf does.
func (t *tuning) inLeaves(f *Family) {
	f.Tree.Walk(func(leaf *Node, where string) {
		row := Leaf{Where: where, Entries: append([]int{}, leaf.Entries...)}
		var regrets, general []float64
		for i, s := range slices.Concat(t.samples, t.heldOut) {
			if got, err := f.Tree.Leaf(s.problem.Values); err != nil || got != leaf {
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
}

// flips counts the shapes at which what is made from one round of timings each chooses differently.
func (t *tuning) flips(f *Family, chosen []int) {
	var choosers [2]chooser
	for n := range choosers {
		choosers[n] = t.ofRound(f.By, chosen, round(n))
	}
	for _, s := range slices.Concat(t.samples, t.heldOut) {
		if f.Regret.FlipOf++; choosers[0](s) != choosers[1](s) {
			f.Regret.Flips++
		}
	}
}

// ofRound is what some rounds of timings alone make of a way to choose.
func (t *tuning) ofRound(by Chooser, chosen []int, rounds func(lap) float64) chooser {
	if by == ByCost {
		if costs, ok := costs(t.timesOfAll(chosen, rounds), anyShape); ok {
			return byCost(costs, chosen)
		}
	}
	g := t.gardenOf(chosen, rounds)
	return byTree(g.plant(g.everyone(), t.leafPrice), chosen)
}
