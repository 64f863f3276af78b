package family

import (
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"autotune/device/trial"
	"autotune/internal/lists"
)

func (t *tuning) document(chosen []int) (*Family, error) {
	subject := t.samples[0].subjects[0]
	first := subject.Problem
	reference, err := first.ReferenceDigest()
	if err != nil {
		return nil, err
	}
	f := &Family{
		Schema: Schema, Tool: t.Tool, Operator: t.Operator.Name, Shapes: t.Shapes.String(), Dimensions: t.Operator.Shape,
		Free: t.Free, Parameters: first.Parameters, Math: first.Math, MathBy: first.MathBy,
		Device: subject.Device.Info(), Target: subject.Device.Arch(), Conditions: subject.Protocol.Conditions,
		Protocol: subject.Protocol.Unconditioned(), Reference: reference, MaxSlowdown: t.MaxSlowdown, LeftOut: t.leftOut,
		At: time.Now().UTC(), Tree: t.tree(chosen),
	}
	for _, c := range chosen {
		e := t.candidates[c].Entry
		for _, s := range slices.Concat(t.samples, t.heldOut) {
			e.MaxAbsError = max(e.MaxAbsError, s.outcomes[c].MaxAbsError)
		}
		f.Entries = append(f.Entries, e)
	}
	f.Samples, f.HeldOut = t.shown(f.Tree, t.samples, chosen), t.shown(f.Tree, t.heldOut, chosen)
	f.Regret.Score, f.Regret.Samples = scoreOf(f.HeldOut), scoreOf(f.Samples)
	f.Seconds = time.Since(t.started).Seconds()
	return f, nil
}

func (t *tuning) tree(chosen []int) *Node {
	shapes := lists.Of(t.samples, func(s *timed) []int64 {
		return lists.Of(t.Free, func(name string) int64 { return s.Shape[slices.Index(t.Operator.Shape, name)] })
	})
	var groups [][]int // the consecutive entries of each configuration
	for place, c := range chosen {
		if place == 0 || t.candidates[c].Key() != t.candidates[chosen[place-1]].Key() {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], place)
	}
	general := len(t.candidates) + 1
	return newGrower(t.Free, shapes, t.slowdownsOf(append(slices.Clip(chosen), general)), groups).tree(policy.leafPrice)
}

// taken returns the entry that a tree chooses for a shape: the first of the leaf's entries that serves it. taken
// returns -1 for the general kernel, which also serves shapes for which a formula in the tree cannot be evaluated.
func (t *tuning) taken(tree *Node, s *timed, chosen []int) int {
	serves := func(e int) bool { return t.candidates[chosen[e]].serves(s.problem()) }
	if leaf, err := tree.Leaf(s.problem().Values); err == nil {
		if e, ok := lists.First(leaf.Entries, serves); ok {
			return e
		}
	}
	return -1
}

func scoreOf(list []Sample) Score {
	if len(list) == 0 {
		return Score{}
	}
	all := lists.Of(list, func(s Sample) float64 { return s.Slowdown })
	return Score{slices.Max(all), stat.GeometricMean(all, nil), len(all)}
}

func timing(o *trial.Outcome) *trial.Timing {
	if o.Status != trial.OK {
		return nil
	}
	return &o.Time
}

func (t *tuning) shown(tree *Node, list []*timed, chosen []int) []Sample {
	all := []Sample{}
	for _, s := range list {
		one := Sample{
			Shape: s.Shape, General: timing(s.general()), Chosen: t.taken(tree, s, chosen),
			Times: lists.Of(chosen, func(c int) *trial.Timing { return timing(&s.outcomes[c]) }),
		}
		best := s.ownBest()
		at := slices.IndexFunc(s.outcomes, func(o trial.Outcome) bool { return ms(o) == best })
		switch one.OwnBest = s.outcomes[at].Time; {
		case ms(*s.own()) == best:
			one.OwnBest, one.Configuration = s.own().Time, s.made
		case at < len(t.candidates):
			one.Configuration = t.candidates[at].Configuration
		default:
			one.Configuration.Template = generalTemplate
		}
		taken := s.general()
		if one.Chosen >= 0 {
			taken = &s.outcomes[chosen[one.Chosen]]
		}
		one.Slowdown = min(ms(*taken)/best, policy.unserved)
		all = append(all, one)
	}
	return all
}
