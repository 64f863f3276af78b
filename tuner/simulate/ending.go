package simulate

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"autotune/device/trial"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner/strategy"
)

const (
	endingEvery  = 15  // outcomes between two looks: half a second of a search
	endingBudget = 400 // outcomes at which a run is given up by default
)

// asRecorded is the name of the walk of the recorded search itself.
const asRecorded = "as recorded"

// EndingReport says when searches end by themselves, and how much they then miss.
type EndingReport struct {
	Target  float64  `json:"target"`
	Repeats int      `json:"repeats"`
	Seed    uint64   `json:"seed"`
	Budget  int      `json:"budget"`
	Endings []Ending `json:"endings"`
	All     Ending   `json:"all"`
}

// Ending is how the searches of one strategy on one recording end.
type Ending struct {
	Recording      string  `json:"recording,omitempty"`
	Strategy       string  `json:"strategy,omitempty"`
	Configurations int64   `json:"configurations,omitempty"` // that could be evaluated
	Runs           int     `json:"runs"`
	Ended          int     `json:"ended"`       // by themselves; the others reached the budget, or the recording's end
	AtRoofline     int     `json:"at_roofline"` // those of them that ended only because the best was at the roofline
	Trials         float64 `json:"trials"`      // at the end, on average
	MoreLeft       int     `json:"more_left"`   // those of the ended that left more than the target
	Regret         float64 `json:"regret"`      // of the ended: how much slower than the best recorded, on average
	MostRegret     float64 `json:"most_regret"`

	ends []ending // of each run
}

// LeftShare is the share of the ended searches that left more than the target.
func (e Ending) LeftShare() float64 { return float64(e.MoreLeft) / float64(max(e.Ended, 1)) }

// ending is where one run ended.
type ending struct {
	ended, sure bool
	trials      int
	regret      float64
}

// Endings plays strategies on recordings as searches that end by themselves. A recorded part of a
// space counts as the space. If a recording names its problem, the recorded search itself is
// followed too, in the problem's whole space. What the unrecorded rest of it holds is not known.
func Endings(ctx context.Context, recordings []*Recording, o Options) (*EndingReport, error) {
	o.Partial = true
	if err := o.complete(recordings); err != nil {
		return nil, err
	}
	o.Budget = cmp.Or(o.Budget, endingBudget)
	report := &EndingReport{Target: strategy.Target, Repeats: o.Repeats, Seed: o.Seed, Budget: o.Budget}
	work, playing := inParallel(ctx)
	start := func(e Ending, runs int, run func(seed uint64) (ending, error)) {
		e.ends = make([]ending, runs)
		report.Endings = append(report.Endings, e)
		for i := range e.ends {
			work.Go(func() (err error) {
				e.ends[i], err = run(o.Seed + uint64(i))
				return cmp.Or(err, playing.Err())
			})
		}
	}
	for _, r := range recordings {
		floorMS, walk, whole, err := r.recordedWalk(ctx)
		if err != nil {
			return nil, err
		}
		best := r.Valid()[0]
		for _, name := range o.Strategies {
			start(Ending{Recording: r.Name, Strategy: name, Configurations: r.Space.Len()}, o.Repeats, func(seed uint64) (ending, error) {
				s, err := strategy.New(name, r.Space, strategy.Options{Seed: seed})
				if err != nil {
					return ending{}, err
				}
				return endingOf(playing, r.Space, r.asked(s), floorMS, best, o.Budget, seed), nil
			})
		}
		if whole != nil {
			start(Ending{Recording: r.Name, Strategy: asRecorded, Configurations: whole.Len()}, 1, func(seed uint64) (ending, error) {
				return endingOf(playing, whole, slices.Values(walk), floorMS, best, o.Budget, seed), nil
			})
		}
	}
	if err := work.Wait(); err != nil {
		return nil, err
	}
	for i := range report.Endings {
		e := &report.Endings[i]
		e.count()
		report.All.ends = append(report.All.ends, e.ends...)
	}
	report.All.count()
	return report, nil
}

// count sums up the runs.
func (e *Ending) count() {
	e.Runs = len(e.ends)
	for _, run := range e.ends {
		if !run.ended {
			continue
		}
		e.Ended++
		e.Trials += float64(run.trials)
		e.Regret += run.regret
		e.MostRegret = max(e.MostRegret, run.regret)
		if run.regret > strategy.Target-1 {
			e.MoreLeft++
		}
		if !run.sure {
			e.AtRoofline++
		}
	}
	if n := float64(e.Ended); n > 0 {
		e.Trials, e.Regret = e.Trials/n, e.Regret/n
	}
}

// asked are the outcomes of what a strategy asks for.
func (r *Recording) asked(s strategy.Strategy) iter.Seq[strategy.Seen] {
	return func(yield func(strategy.Seen) bool) {
		for id, ok := s.Ask(); ok; id, ok = s.Ask() {
			seen := strategy.Seen{ID: id, Outcome: r.Rows[id].outcome()}
			if s.Tell(seen.ID, seen.Outcome); !yield(seen) {
				return
			}
		}
	}
}

// endingOf follows a search until it ends by itself, has nothing left or has spent
// the budget.
func endingOf(ctx context.Context, s *space.Space, outcomes iter.Seq[strategy.Seen], floorMS, optimum float64, budget int, seed uint64) ending {
	var seen []strategy.Seen
	best := math.Inf(1)
	for o := range outcomes {
		if len(seen) == budget || ctx.Err() != nil {
			break
		}
		seen = append(seen, o)
		if o.OK {
			best = min(best, o.Score)
		}
		if len(seen)%endingEvery != 0 || int64(len(seen)) == s.Len() {
			continue
		}
		outlook := strategy.Outlook{
			Target: strategy.Target, Chance: strategy.Look(s, seen, nil, strategy.Target, seed).Chance, AtFloor: best <= floorMS*(1+trial.Resolution),
		}
		if outlook.Over() {
			return ending{ended: true, sure: outlook.Sure(), trials: len(seen), regret: best/optimum - 1}
		}
	}
	return ending{}
}

// recordedWalk is what follows from a recording's problem, if that is built in: the time of a copy
// of what it must move, its whole space, and the trials there, in their order.
func (r *Recording) recordedWalk(ctx context.Context) (floorMS float64, walk []strategy.Seen, whole *space.Space, err error) {
	m := r.Metadata
	op, err := operator.Find(m.Problem.Operator)
	if err != nil {
		return 0, nil, nil, nil // a kernel of others
	}
	p, err := op.Bind(m.Problem.Request(), m.Device.Limits)
	if err != nil {
		return 0, nil, nil, fmt.Errorf("%s: %w", r.File, err)
	}
	if whole, err = p.Space(ctx); err != nil {
		return 0, nil, nil, fmt.Errorf("%s: %w", r.File, err)
	}
	for _, t := range r.Trials {
		if id, ok := whole.Index(t.Configuration); ok {
			walk = append(walk, strategy.Seen{ID: id, Outcome: rowOf(t).outcome()})
		}
	}
	return m.Ceilings.FloorMS(p.Bytes), walk, whole, nil
}
