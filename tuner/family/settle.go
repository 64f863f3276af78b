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

func (b *bench) document(ctx context.Context, chosen []int) (*Family, error) {
	first, p := b.samples[0].problem, b.plan
	subject, err := b.subject(ctx, b.samples[0].Shape)
	if err != nil {
		return nil, err
	}
	reference, err := first.ReferenceDigest()
	if err != nil {
		return nil, err
	}
	f := &Family{
		Schema: Schema, Tool: b.Tool, Operator: p.Operator.Name, Shapes: p.Shapes.String(), Dimensions: p.Operator.Shape,
		Fixed: map[string]int64{}, Free: p.Request.Free, Parameters: first.Parameters, Math: first.Math, MathBy: first.MathBy,
		Device: subject.Device.Info(), Target: subject.Device.Arch(), Conditions: subject.Protocol.Conditions,
		Protocol: subject.Protocol.Unconditioned(), Reference: reference, MaxSlowdown: b.MaxSlowdown, LeftOut: b.leftOut,
		At: time.Now().UTC(),
	}
	for i, name := range f.Dimensions {
		if !slices.Contains(f.Free, name) {
			f.Fixed[name] = p.Shapes[i].Low()
		}
	}
	for _, c := range chosen {
		e := b.candidates[c].Entry
		bound, err := p.Operator.Bind(p.at(e.Shape, true), first.Limits)
		if err != nil {
			return nil, err
		}
		k, err := bound.Kernel(e.Configuration)
		if err != nil {
			return nil, err
		}
		e.Digest = k.Digest()
		for _, s := range slices.Concat(b.samples, b.heldOut) {
			e.MaxAbsError = max(e.MaxAbsError, s.of(c).MaxAbsError)
		}
		f.Entries = append(f.Entries, e)
	}
	f.Tree = b.tree(chosen)
	f.Samples, f.HeldOut = b.shown(f.Tree, b.samples, chosen), b.shown(f.Tree, b.heldOut, chosen)
	f.Regret.Score, f.Regret.Samples = scoreOf(f.HeldOut), scoreOf(f.Samples)
	f.Seconds = time.Since(b.clock.started).Seconds()
	return f, nil
}

// tree is grown from the samples' times.
func (b *bench) tree(chosen []int) *Node {
	shapes := lists.Of(b.samples, func(s *timed) (values []int64) {
		for i, name := range b.plan.Operator.Shape {
			if slices.Contains(b.plan.Request.Free, name) {
				values = append(values, s.Shape[i])
			}
		}
		return values
	})
	general := lists.Of(b.samples, func(s *timed) float64 { return s.General.ms() / s.ownBest() })
	at := map[string]int{}
	var groups [][]int // the entries of each configuration
	for place, c := range chosen {
		key := b.candidates[c].Configuration.Key()
		if _, known := at[key]; !known {
			at[key], groups = len(groups), append(groups, nil)
		}
		groups[at[key]] = append(groups[at[key]], place)
	}
	return newGrower(b.plan.Request.Free, shapes, slowdownsOf(b.samples, chosen), general, groups).tree(policy.leafPrice)
}

// taken is the entry that a tree takes for a shape: the first of the leaf that serves it; -1: the general kernel, also
// where a formula has no value.
func (b *bench) taken(tree *Node, s *timed, chosen []int) int {
	leaf, err := tree.Leaf(s.problem.Values)
	if err != nil {
		return -1
	}
	at := slices.IndexFunc(leaf.Entries, func(e int) bool { return b.candidates[chosen[e]].serves(s.problem) })
	if at < 0 {
		return -1
	}
	return leaf.Entries[at]
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

// timingOf is a result's timing; nil if there is none.
func timingOf(r result) *trial.Timing {
	if r.Status != trial.OK {
		return nil
	}
	return &r.Time
}

func (b *bench) shown(tree *Node, list []*timed, chosen []int) []Sample {
	all := []Sample{}
	for _, s := range list {
		one := Sample{Shape: s.Shape, General: timingOf(s.General)}
		best := s.ownBest()
		at := slices.IndexFunc(s.Results, func(r result) bool { return r.ms() == best })
		switch {
		case s.made().ms() == best:
			one.OwnBest, one.Configuration, one.OwnFixed = s.made().Time, s.Made, true
		case at >= 0:
			one.OwnBest, one.Configuration = s.Results[at].Time, b.candidates[s.Candidates[at]].Configuration
		default:
			one.OwnBest, one.Configuration = s.General.Time, space.Configuration{Template: generalTemplate}
		}
		one.Times = lists.Of(chosen, func(c int) *trial.Timing { return timingOf(s.of(c)) })
		if one.Chosen = b.taken(tree, s, chosen); one.Chosen < 0 {
			one.Slowdown = min(s.General.ms()/best, policy.unserved)
		} else {
			one.Slowdown = s.of(chosen[one.Chosen]).ms() / best
		}
		all = append(all, one)
	}
	return all
}
