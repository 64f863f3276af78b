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

// document describes the family of the chosen candidates.
func (b *bench) document(ctx context.Context, chosen []int) (*Family, error) {
	subject, err := b.subject(ctx, b.samples[0].Shape)
	if err != nil {
		return nil, err
	}
	first := b.samples[0].problem
	reference, err := first.ReferenceDigest()
	if err != nil {
		return nil, err
	}
	f := &Family{
		Schema: Schema, Tool: b.Tool, Operator: b.Operator.Name, Shapes: b.Shapes.String(), Dimensions: b.Operator.Shape,
		Free: b.Free, Parameters: first.Parameters, Math: first.Math, MathBy: first.MathBy,
		Device: subject.Device.Info(), Target: subject.Device.Arch(), Conditions: subject.Protocol.Conditions,
		Protocol: subject.Protocol.Unconditioned(), Reference: reference, MaxSlowdown: b.MaxSlowdown, LeftOut: b.leftOut,
		At: time.Now().UTC(), Tree: b.tree(chosen),
	}
	for _, c := range chosen {
		e := b.candidates[c].Entry
		bound, err := b.Operator.Bind(b.at(e.Shape, true), first.Limits)
		if err != nil {
			return nil, err
		}
		k, err := bound.Kernel(e.Configuration)
		if err != nil {
			return nil, err
		}
		e.Digest = k.Digest()
		for _, s := range slices.Concat(b.samples, b.heldOut) {
			e.MaxAbsError = max(e.MaxAbsError, s.outcomes[c].MaxAbsError)
		}
		f.Entries = append(f.Entries, e)
	}
	f.Samples, f.HeldOut = b.shown(f.Tree, b.samples, chosen), b.shown(f.Tree, b.heldOut, chosen)
	f.Regret.Score, f.Regret.Samples = scoreOf(f.HeldOut), scoreOf(f.Samples)
	f.Seconds = time.Since(b.started).Seconds()
	return f, nil
}

// tree is grown from the samples' times.
func (b *bench) tree(chosen []int) *Node {
	shapes := lists.Of(b.samples, func(s *timed) (values []int64) {
		for i, name := range b.Operator.Shape {
			if slices.Contains(b.Free, name) {
				values = append(values, s.Shape[i])
			}
		}
		return values
	})
	general := lists.Of(b.samples, func(s *timed) float64 { return ms(s.general) / s.ownBest() })
	at := map[string]int{}
	var groups [][]int // the entries of each configuration
	for place, c := range chosen {
		key := b.candidates[c].Configuration.Key()
		if _, known := at[key]; !known {
			at[key], groups = len(groups), append(groups, nil)
		}
		groups[at[key]] = append(groups[at[key]], place)
	}
	return newGrower(b.Free, shapes, slowdownsOf(b.samples, chosen), general, groups).tree(policy.leafPrice)
}

// taken is the entry that a tree takes for a shape: the first of the leaf that serves it; -1: the general kernel, also
// where a formula has no value.
func (b *bench) taken(tree *Node, s *timed, chosen []int) int {
	leaf, err := tree.Leaf(s.problem.Values)
	if err == nil {
		for _, e := range leaf.Entries {
			if b.candidates[chosen[e]].serves(s.problem) {
				return e
			}
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

func scoreOf(list []Sample) Score {
	return score(lists.Of(list, func(s Sample) float64 { return s.Slowdown }))
}

// timing is a variant's; nil if it has none.
func timing(o trial.Outcome) *trial.Timing {
	if o.Status != trial.OK {
		return nil
	}
	return &o.Time
}

// shown is what a document says of shapes.
func (b *bench) shown(tree *Node, list []*timed, chosen []int) []Sample {
	all := []Sample{}
	for _, s := range list {
		one := Sample{
			Shape: s.Shape, General: timing(s.general), Chosen: b.taken(tree, s, chosen),
			OwnBest: s.general.Time, Configuration: space.Configuration{Template: generalTemplate},
			Times: lists.Of(chosen, func(c int) *trial.Timing { return timing(s.outcomes[c]) }),
		}
		best := s.ownBest()
		at := slices.IndexFunc(s.outcomes, func(o trial.Outcome) bool { return ms(o) == best })
		if ms(s.own()) == best {
			one.OwnBest, one.Configuration = s.own().Time, s.made
		} else if at >= 0 {
			one.OwnBest, one.Configuration = s.outcomes[at].Time, b.candidates[at].Configuration
		}
		if one.Chosen < 0 {
			one.Slowdown = min(ms(s.general)/best, policy.unserved)
		} else {
			one.Slowdown = ms(s.outcomes[chosen[one.Chosen]]) / best
		}
		all = append(all, one)
	}
	return all
}
