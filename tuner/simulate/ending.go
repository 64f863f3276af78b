package simulate

import (
	"context"
	"fmt"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"autotune/space"
	"autotune/tuner/operator"
	"autotune/tuner/strategy"
	"autotune/tuner/trial"
)

const (
	endingEvery  = 15  // outcomes between two looks: half a second of a search
	endingBudget = 400 // outcomes at which a run is given up, unless told otherwise
)

// AsRecorded is the name of the walk of the recorded search itself.
const AsRecorded = "as recorded"

// EndingReport says when searches end by themselves, and what they then miss.
type EndingReport struct {
	Target     float64  `json:"target"`
	Repeats    int      `json:"repeats"`
	Seed       uint64   `json:"seed"`
	Budget     int      `json:"budget"`
	Recordings []About  `json:"-"`
	Endings    []Ending `json:"endings"`
	All        Ending   `json:"all"`
}

// Ending is how the searches of one strategy on one recording end.
type Ending struct {
	Recording      string  `json:"recording,omitempty"`
	Strategy       string  `json:"strategy,omitempty"`
	Configurations int64   `json:"configurations,omitempty"` // that could be evaluated
	Runs           int     `json:"runs"`
	Ended          int     `json:"ended"`       // by themselves; the others reached the budget, or the recording's end
	AtRoofline     int     `json:"at_roofline"` // of them, only since they were there
	Trials         float64 `json:"trials"`      // at the end, on average
	MoreLeft       int     `json:"more_left"`   // of the ended, those that more than the target was left to
	Regret         float64 `json:"regret"`      // of the ended: how much slower than the best recorded, on average
	MostRegret     float64 `json:"most_regret"`
}

// LeftShare is how often more than the target was left to a search that ended.
func (e Ending) LeftShare() float64 { return float64(e.MoreLeft) / float64(max(e.Ended, 1)) }

// ending is where one run ended.
type ending struct {
	ended, sure bool
	trials      int
	regret      float64
}

// Endings plays strategies on recordings as a search goes that ends by itself. A
// recorded part of a space counts as the space. Where a recording tells its
// problem, the recorded search itself is looked at too, in that problem's whole
// space; what lies beyond the recorded part nobody knows.
func Endings(ctx context.Context, recordings []*Recording, o Options) (*EndingReport, error) {
	o.Partial = true
	if err := o.complete(recordings); err != nil {
		return nil, err
	}
	if o.Budget == 0 {
		o.Budget = endingBudget
	}
	report := &EndingReport{Target: strategy.Target, Repeats: o.Repeats, Seed: o.Seed, Budget: o.Budget}
	var runs [][]ending
	work, playing := errgroup.WithContext(ctx)
	work.SetLimit(o.Workers)
	for _, r := range recordings {
		report.Recordings = append(report.Recordings, About{Name: r.Name})
		floorMS, walk, whole, err := r.recordedWalk(ctx)
		if err != nil {
			return nil, err
		}
		for _, name := range o.Strategies {
			report.Endings = append(report.Endings, Ending{Recording: r.Name, Strategy: name, Configurations: r.Space.Len()})
			ends := make([]ending, o.Repeats)
			runs = append(runs, ends)
			for i := range ends {
				work.Go(func() error {
					seed := o.Seed + uint64(i)
					s, err := strategy.New(name, r.Space, strategy.Options{Seed: seed})
					if err == nil {
						ends[i] = endingOf(playing, r.Space, r.asked(s), floorMS, r.Valid()[0], o.Budget, seed)
						err = playing.Err()
					}
					return err
				})
			}
		}
		if whole != nil {
			report.Endings = append(report.Endings, Ending{Recording: r.Name, Strategy: AsRecorded, Configurations: whole.Len()})
			ends := make([]ending, 1)
			runs = append(runs, ends)
			work.Go(func() error {
				ends[0] = endingOf(playing, whole, told(walk), floorMS, r.Valid()[0], o.Budget, o.Seed)
				return playing.Err()
			})
		}
	}
	if err := work.Wait(); err != nil {
		return nil, err
	}
	for i, ends := range runs {
		report.Endings[i].count(ends)
	}
	report.All.count(slices.Concat(runs...))
	return report, nil
}

// count sums up runs.
func (e *Ending) count(runs []ending) {
	e.Runs = len(runs)
	for _, run := range runs {
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

// outcomes hands out one outcome after the other; false when there is none.
type outcomes func() (strategy.Seen, bool)

// asked are the outcomes of what a strategy asks for.
func (r *Recording) asked(s strategy.Strategy) outcomes {
	return func() (strategy.Seen, bool) {
		ids := s.Ask(1)
		if len(ids) == 0 {
			return strategy.Seen{}, false
		}
		seen := strategy.Seen{ID: ids[0], Outcome: r.Rows[ids[0]].outcome()}
		s.Tell(seen.ID, seen.Outcome)
		return seen, true
	}
}

// told are outcomes in their order.
func told(list []strategy.Seen) outcomes {
	return func() (strategy.Seen, bool) {
		if len(list) == 0 {
			return strategy.Seen{}, false
		}
		first := list[0]
		list = list[1:]
		return first, true
	}
}

// endingOf follows a search until it ends by itself, has nothing left or has spent
// the budget.
func endingOf(ctx context.Context, s *space.Space, next outcomes, floorMS, optimum float64, budget int, seed uint64) ending {
	var seen []strategy.Seen
	best := math.Inf(1)
	for len(seen) < budget && ctx.Err() == nil {
		o, ok := next()
		if !ok {
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
			Target: strategy.Target, Chance: strategy.Chance(s, seen, strategy.Target, seed), AtFloor: best <= floorMS*(1+trial.Resolution),
		}
		if outlook.Over() {
			return ending{ended: true, sure: outlook.Sure(), trials: len(seen), regret: best/optimum - 1}
		}
	}
	return ending{}
}

// recordedWalk is what a recording knows beyond its trials, if it tells a problem
// that is built in: how long a copy of what the problem must move takes, its whole
// space, and the trials there, in their order. A file that tells no problem has
// none of it.
func (r *Recording) recordedWalk(ctx context.Context) (floorMS float64, walk []strategy.Seen, whole *space.Space, err error) {
	m := r.recorded.Metadata
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
	for _, t := range r.recorded.Trials {
		if id, ok := whole.Index(t.Configuration); ok {
			walk = append(walk, strategy.Seen{ID: id, Outcome: rowOf(t).outcome()})
		}
	}
	return m.Ceilings.FloorMS(p.Bytes), walk, whole, nil
}
