package family

import (
	"context"
	"math"
	"slices"
	"time"

	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/space"
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
	f.Tree = t.garden(chosen).plant(leafPrice)
	f.Samples, f.HeldOut = t.shown(f.Tree, t.samples, chosen), t.shown(f.Tree, t.heldOut, chosen)
	f.Regret.Score, f.Regret.Samples = scoreOf(f.HeldOut), scoreOf(f.Samples)
	f.Seconds = time.Since(t.started).Seconds()
	return f, nil
}

// maxAbsError is a candidate's largest, over all shapes.
func (t *tuning) maxAbsError(candidate int) (most float64) {
	for _, s := range slices.Concat(t.samples, t.heldOut) {
		if at := slices.Index(s.Candidates, candidate); at >= 0 {
			most = max(most, s.Laps[at].MaxAbsError)
		}
	}
	return most
}

// garden is that of all samples.
func (t *tuning) garden(chosen []int) *garden {
	shapes := lists.Of(t.samples, func(s *timed) []int64 { return t.freeOf(s.Shape) })
	general := lists.Of(t.samples, func(s *timed) float64 { return s.General.ms() / s.ownBest() })
	return newGarden(t.plan.Request.Free, shapes, slowdownsOf(t.samples, chosen), general, t.groupsOf(chosen))
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

// taken is the entry that a tree takes for a shape: the first of the leaf that serves it. -1: the general kernel, also
// where a formula has no value.
func (t *tuning) taken(tree *Node, s *timed, chosen []int) int {
	leaf, err := tree.Leaf(s.problem.Values)
	if err != nil {
		return -1
	}
	for _, e := range leaf.Entries {
		if t.candidates[chosen[e]].serves(s.problem) {
			return e
		}
	}
	return -1
}

// slowdown is that of an entry; -1: of the general kernel.
func (s *timed) slowdown(entry int, chosen []int) float64 {
	if entry < 0 {
		return min(s.General.ms()/s.ownBest(), unserved)
	}
	return s.ms(chosen[entry]) / s.ownBest()
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

func scoreOf(list []Sample) Score {
	return score(lists.Of(list, func(s Sample) float64 { return s.Slowdown }))
}

// shown are shapes as the document has them.
func (t *tuning) shown(tree *Node, list []*timed, chosen []int) []Sample {
	all := []Sample{}
	for _, s := range list {
		one := Sample{Shape: s.Shape, Configuration: s.Made, OwnFixed: true}
		best := s.ownBest()
		if one.OwnBest = s.own().timing(); s.own().ms() > best {
			one.OwnBest, one.Configuration, one.OwnFixed = s.General.timing(), space.Configuration{Template: generalTemplate}, false
		}
		for at, c := range s.Candidates {
			if l := s.Laps[at]; !one.OwnFixed && l.ms() == best {
				one.OwnBest, one.Configuration = l.timing(), t.candidates[c].Configuration
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
		one.Chosen = t.taken(tree, s, chosen)
		one.Slowdown = s.slowdown(one.Chosen, chosen)
		all = append(all, one)
	}
	return all
}
