package final

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"autotune/device"
	"autotune/device/trial"
)

// play times the finalists in rounds of random order until none needs another round. play goes on after its time
// limit only until it has timed the leader. If the time limit allows, the untuned default takes part in at least
// one round of the finals, so that it is timed in the same way as the winner.
func (j *judge) play(ctx context.Context) error {
	for Timed(j.Protocol) {
		leader, ok := j.field.Leader()
		if !ok || j.rounds[leader] > 0 && time.Since(j.began) > j.limit {
			return nil
		}
		round := j.round()
		if len(round) == 0 {
			return nil
		}
		if err := j.compileAll(ctx, round); err != nil {
			return err
		}
		j.random.Shuffle(len(round), func(a, b int) { round[a], round[b] = round[b], round[a] })
		for _, id := range round {
			if err := j.time(ctx, id); err != nil {
				return err
			}
		}
	}
	return nil
}

func (j *judge) round() []int64 {
	finalists := j.finalists()
	most := policy.rounds
	if len(finalists) > 1 {
		most = policy.tiedRounds
	}
	untuned, left := j.field.baseline, j.limit-time.Since(j.began)
	if t := j.field.Untuned(); t != nil && t.Status == trial.OK && j.rounds[untuned] == 0 && j.roundOf(*t) <= left &&
		!slices.Contains(finalists, untuned) {
		finalists = append(finalists, untuned)
	}
	return slices.DeleteFunc(finalists, func(id int64) bool { return j.rounds[id] >= most })
}

func (j *judge) roundOf(t trial.Trial) time.Duration {
	launch := trial.DurationOf(t.Time.Median)
	samples := launch * time.Duration(j.Protocol.Samples)
	if j.Protocol.MeasureTime > 0 {
		samples = min(samples, max(j.Protocol.MeasureTime, time.Duration(policy.launches)*launch))
	}
	return samples + trial.DurationOf(t.Phases.VerifyMS)
}

// finalists returns the configurations whose confidence interval overlaps the leader's, the fastest first, but only as
// many as can be timed within the time limit.
func (j *judge) finalists() []int64 {
	var ids []int64
	left := j.limit
	all := j.field.reaching()
	for _, i := range all[:min(len(all), policy.finalists)] {
		p := j.field.Trials[i].Phases
		if left -= trial.DurationOf(p.VerifyMS+p.MeasureMS) * time.Duration(policy.rounds); left < 0 && len(ids) > 1 {
			break
		}
		ids = append(ids, j.field.ids[i])
	}
	return ids
}

// compileAll compiles configurations that have no variant yet, in parallel. A configuration that no longer compiles
// gets a trial with that failure.
func (j *judge) compileAll(ctx context.Context, ids []int64) error {
	missing := slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { _, has := j.Variants[id]; return has })
	variants, outcomes := make([]device.Variant, len(missing)), make([]trial.Outcome, len(missing))
	var group errgroup.Group
	group.SetLimit(max(1, j.Compilers))
	for i, id := range missing {
		group.Go(func() (err error) {
			variants[i], outcomes[i], err = j.Compile(ctx, id)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, id := range missing {
		j.Variants[id] = variants[i]
		if variants[i].Binary == nil {
			j.change(id, func(t *trial.Trial) { t.Fail(outcomes[i].Status, "in the finals: "+outcomes[i].Message) })
		}
	}
	return ctx.Err()
}

// variant returns the compiled variant of a configuration, or ok=false if it does not compile.
func (j *judge) variant(ctx context.Context, id int64) (v device.Variant, ok bool, err error) {
	err = j.compileAll(ctx, []int64{id})
	v = j.Variants[id]
	return v, v.Binary != nil, err
}

// time verifies and times a configuration once more. In a configuration's first round of the finals, time discards the
// samples that the search measured. If a configuration fails in the finals, its trial becomes a failure.
func (j *judge) time(ctx context.Context, id int64) error {
	v, ok, err := j.variant(ctx, id)
	if err != nil || !ok {
		return err
	}
	o, err := j.place.evaluate(ctx, v, 0)
	if err != nil {
		return err
	}
	if o.Status != trial.OK {
		o.Message = "in the finals: " + o.Message
	}
	first := j.rounds[id] == 0
	j.rounds[id]++
	j.change(id, func(t *trial.Trial) {
		if first {
			t.SetSamples(nil, 0)
			t.Warnings = nil
		}
		t.Join(o)
		t.FinalRounds = j.rounds[id]
		t.Dropped = false
	})
	return nil
}
