package final

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"autotune/device"
	"autotune/device/trial"
	"autotune/space"
)

// Surroundings holds the trial of one configuration, the centre, and the trials of other configurations that were timed
// in turns with it.
type Surroundings struct {
	Centre   trial.Trial
	Others   []trial.Turned
	Ceilings device.Ceilings // measured on the device during these timings
}

// Around measures one configuration, the centre, in turns with other configurations of the subject's problem. Around
// measures until each configuration has had enough turns or until the time limit. A configuration that fails in a turn
// is not timed again. Around reports its progress to the function `said`, with the number of timings so far and their
// final number.
func Around(ctx context.Context, s Subject, centre space.Configuration, others []space.Configuration,
	limit time.Duration, said func(done, of int)) (found Surroundings, err error) {
	a := around{said: said}
	if err := a.compile(ctx, s, append([]space.Configuration{centre}, others...)); err != nil {
		return found, err
	}
	if c := a.trials[0]; c.Status != "" {
		return found, fmt.Errorf("%s: %s", centre, c.Reason())
	}
	if a.match, err = Meet(ctx, uint64(s.Protocol.Seed), s); err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, a.match.Close()) }()
	rounds := policy.turns
	if !s.Device.Info().Kind.Properties().Measures {
		rounds = 1
	}
	for turn, began := 0, time.Now(); turn < rounds && (turn < 2 || time.Since(began) < limit); turn++ {
		if err := a.turn(ctx, turn, rounds); err != nil {
			return found, err
		}
	}
	found.Centre, found.Ceilings = a.trials[0], a.match.Ceilings(0)
	for i, t := range a.trials[1:] {
		one := trial.Turned{Trial: t}
		if logs := a.logs[i+1]; t.Status == trial.OK && len(logs) == 1 {
			one.Ratio = math.Exp(logs[0])
		} else if t.Status == trial.OK && len(logs) > 1 {
			one.Ratio, one.CI95 = ratio(logs)
		}
		found.Others = append(found.Others, one)
	}
	return found, nil
}

// around holds the trials of the centre, which has index 0, and of the configurations that are timed in turns with it.
type around struct {
	match    *Match
	trials   []trial.Trial
	variants []device.Variant
	logs     [][]float64 // logarithms of the ratios, by trial and turn
	said     func(done, of int)
}

// compile compiles the centre (the configuration that Around compares with) and the other configurations in
// parallel. A configuration that the compiler refuses counts as failed.
func (a *around) compile(ctx context.Context, s Subject, all []space.Configuration) error {
	a.trials, a.variants = make([]trial.Trial, len(all)), make([]device.Variant, len(all))
	a.logs = make([][]float64, len(all))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, c := range all {
		group.Go(func() error {
			v, o, err := s.Compile(ctx, c)
			a.variants[i], a.trials[i] = v, trial.New(c, v.Kernel)
			if o.Status != "" {
				a.trials[i].Fail(o.Status, o.Message)
			}
			return err
		})
	}
	return group.Wait()
}

func (a *around) turn(ctx context.Context, turn, of int) error {
	var left []int
	for i, t := range a.trials {
		if i > 0 && (t.Status == "" || t.Status == trial.OK) {
			left = append(left, i)
		}
	}
	if len(left) == 0 {
		return a.round(ctx, nil)
	}
	a.match.random.Shuffle(len(left), func(i, k int) { left[i], left[k] = left[k], left[i] })
	done := turn * len(left)
	for few := range slices.Chunk(left, policy.apart) {
		if err := a.round(ctx, few); err != nil {
			return err
		}
		done += len(few)
		a.said(done, of*len(left))
	}
	return nil
}

func (a *around) round(ctx context.Context, few []int) error {
	few = append([]int{0}, few...)
	runners := make([]Runner, len(few))
	for i, at := range few {
		runners[i] = Runner{Variant: a.variants[at]}
	}
	outcomes, err := a.match.Round(ctx, runners, 0)
	if err != nil {
		return err
	}
	for i, at := range few {
		t := &a.trials[at]
		if t.Status == "" {
			*t = t.With(outcomes[i])
		} else {
			t.Join(outcomes[i])
		}
		if t.Status == trial.OK && at > 0 && outcomes[0].Time.Median > 0 {
			a.logs[at] = append(a.logs[at], math.Log(outcomes[i].Time.Median/outcomes[0].Time.Median))
		}
	}
	if t := a.trials[0]; t.Status != trial.OK {
		return fmt.Errorf("%s ended as %s: %s", t.Configuration, t.Status, t.Reason())
	}
	return nil
}
