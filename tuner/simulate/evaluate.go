package simulate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"

	"golang.org/x/sync/errgroup"

	"autotune/tuner/strategy"
	"autotune/tuner/trial"
)

// Options say what to evaluate. The zero value is useful.
type Options struct {
	Strategies []string // by name; none: strategy.Default
	Repeats    int      // runs with different seeds; 0: 50
	Budget     int      // evaluations at which a run ends even if there is time; 0: none
	Seed       uint64   // of the first repeat
	Workers    int      // runs at a time; 0: one a processor
}

const defaultRepeats = 50

// Report is the evaluation of strategies on recordings.
type Report struct {
	Repeats    int        `json:"repeats"`
	Seed       uint64     `json:"seed"`
	Budget     int        `json:"budget,omitempty"`
	Recordings []About    `json:"recordings"`
	Strategies []Standing `json:"strategies"` // in the order they were named
}

// About describes a recording.
type About struct {
	Name           string  `json:"recording"`
	File           string  `json:"file"`
	Kernel         string  `json:"kernel,omitempty"`
	Device         string  `json:"device,omitempty"`
	Configurations int64   `json:"configurations"`
	Valid          int     `json:"valid"`
	Interrupted    bool    `json:"interrupted,omitempty"`
	Best           float64 `json:"best"`
	Median         float64 `json:"median"`
	Window         Window  `json:"window"`
}

// Standing is how one strategy did.
type Standing struct {
	Strategy string   `json:"strategy"`
	Mean     float64  `json:"mean"` // of the scores
	CI95     Interval `json:"ci95"`
	Scores   []Score  `json:"scores"` // by recording
}

// Score is how one strategy did on one recording.
type Score struct {
	Recording string   `json:"recording"`
	Strategy  string   `json:"strategy"`
	Score     float64  `json:"score"`
	CI95      Interval `json:"ci95"`
	Repeats   int      `json:"repeats"`
	// Curve is the performance over the window, for plots.
	Curve []float64 `json:"-"`

	resampled []float64
}

// Evaluate plays every strategy on every recording and scores it.
func Evaluate(ctx context.Context, recordings []*Recording, o Options) (*Report, error) {
	if err := o.complete(recordings); err != nil {
		return nil, err
	}
	report := &Report{Repeats: o.Repeats, Seed: o.Seed, Budget: o.Budget}
	games := make([]*game, len(recordings))
	for i, r := range recordings {
		games[i] = newGame(r)
		report.Recordings = append(report.Recordings, games[i].about())
	}
	scores, err := scoreAll(ctx, games, o)
	if err != nil {
		return nil, err
	}
	for i, name := range o.Strategies {
		report.Strategies = append(report.Strategies, standing(name, scores[i]))
	}
	return report, nil
}

func (o *Options) complete(recordings []*Recording) error {
	if len(recordings) == 0 {
		return errors.New("there is no recording to simulate")
	}
	if o.Repeats < 0 || o.Budget < 0 {
		return fmt.Errorf("%d repeats with a budget of %d: neither may be negative", o.Repeats, o.Budget)
	}
	if len(o.Strategies) == 0 {
		o.Strategies = []string{strategy.Default}
	}
	for _, name := range o.Strategies {
		if err := strategy.Check(name); err != nil {
			return err
		}
	}
	if o.Repeats == 0 {
		o.Repeats = defaultRepeats
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	return nil
}

// scoreAll plays the runs in parallel; scores are by strategy, then recording.
func scoreAll(ctx context.Context, games []*game, o Options) ([][]Score, error) {
	scores := make([][]Score, len(o.Strategies))
	runs := make([][][][]sample, len(o.Strategies))
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(o.Workers)
	for s, name := range o.Strategies {
		scores[s], runs[s] = make([]Score, len(games)), make([][][]sample, len(games))
		for k, g := range games {
			runs[s][k] = make([][]sample, o.Repeats)
			for repeat := range o.Repeats {
				work.Go(func() error {
					var err error
					if err = ctx.Err(); err == nil {
						runs[s][k][repeat], err = g.run(name, o, repeat)
					}
					return err
				})
			}
		}
	}
	if err := work.Wait(); err != nil {
		return nil, err
	}
	var scoring errgroup.Group
	scoring.SetLimit(o.Workers)
	for s, name := range o.Strategies {
		for k, g := range games {
			scoring.Go(func() error {
				scores[s][k] = g.score(name, runs[s][k], o.Seed)
				return nil
			})
		}
	}
	return scores, scoring.Wait()
}

func (g *game) run(name string, o Options, repeat int) ([]sample, error) {
	s, err := strategy.New(name, g.Space, strategy.Options{Seed: o.Seed + uint64(repeat), Budget: o.Budget})
	if err != nil {
		return nil, err
	}
	return g.play(s, o.Budget), nil
}

func (g *game) score(name string, runs [][]sample, seed uint64) Score {
	p := pool(runs)
	weights := make([]float64, len(runs))
	for i := range weights {
		weights[i] = 1
	}
	curve := g.curve(p, weights)
	resampled := g.bootstrap(p, rand.New(rand.NewPCG(seed, 0xb007)))
	return Score{
		Recording: g.Name, Strategy: name, Score: mean(curve), CI95: interval95(resampled), Repeats: len(runs),
		Curve: curve, resampled: resampled,
	}
}

// standing averages the scores, and their resamples one by one.
func standing(name string, scores []Score) Standing {
	s := Standing{Strategy: name, Scores: scores}
	resampled := make([]float64, resamples)
	for _, score := range scores {
		s.Mean += score.Score / float64(len(scores))
		for i, v := range score.resampled {
			resampled[i] += v / float64(len(scores))
		}
	}
	s.CI95 = interval95(resampled)
	return s
}

func (g *game) about() About {
	return About{
		Name: g.Name, File: g.File, Kernel: g.Kernel, Device: g.Device,
		Configurations: g.Space.Len(), Valid: len(g.valid), Interrupted: g.Interrupted,
		Best: g.valid[0], Median: trial.Median(g.valid), Window: g.window,
	}
}
