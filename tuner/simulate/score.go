package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/stat"

	"autotune/device/trial"
	"autotune/tuner/strategy"
)

// Options say which strategies to evaluate, and how often. With the zero value of Options, Evaluate runs the default
// strategy 50 times.
type Options struct {
	Strategies []string // names; none: strategy.Default
	Repeats    int      // runs with different seeds; 0: 50
	Seed       uint64   // seed of the first repeat
}

// Report holds the scores of strategies on recordings.
type Report struct {
	Repeats    int        `json:"repeats"`
	Seed       uint64     `json:"seed"`
	Recordings []About    `json:"recordings"`
	Strategies []Standing `json:"strategies"` // one for each of Options.Strategies, in that order
}

type About struct {
	Name           string  `json:"recording"`
	File           string  `json:"file"`
	Configurations int64   `json:"configurations"`
	Valid          int     `json:"valid"`
	Best           float64 `json:"best"`
	Median         float64 `json:"median"`
	Window         Window  `json:"window"`
}

// Standing is the result of one strategy over all recordings.
type Standing struct {
	Strategy string     `json:"strategy"`
	Mean     float64    `json:"mean"` // mean of the scores
	CI95     [2]float64 `json:"ci95"`
	Scores   []Score    `json:"scores"` // one for each recording
}

// Score is the result of one strategy on one recording.
type Score struct {
	Recording string     `json:"recording"`
	Score     float64    `json:"score"`
	CI95      [2]float64 `json:"ci95"`

	resampled []float64
}

// Evaluate runs every strategy on every recording and scores it.
func Evaluate(ctx context.Context, recordings []*Recording, o Options) (*Report, error) {
	o.Repeats = cmp.Or(o.Repeats, 50)
	if len(o.Strategies) == 0 {
		o.Strategies = []string{strategy.Default}
	}
	if err := o.check(recordings); err != nil {
		return nil, err
	}
	report := &Report{Repeats: o.Repeats, Seed: o.Seed}
	var games []*game
	for _, r := range recordings {
		g := newGame(r)
		games = append(games, g)
		report.Recordings = append(report.Recordings, About{
			Name: r.Name, File: r.File,
			Configurations: r.Space.Len(), Valid: len(g.valid),
			Best: g.valid[0], Median: trial.Median(g.valid), Window: g.window,
		})
	}
	work, working := errgroup.WithContext(ctx)
	work.SetLimit(runtime.GOMAXPROCS(0))
	scores := make([]Score, len(o.Strategies)*len(games))
	for i, name := range o.Strategies {
		for k, g := range games {
			work.Go(func() (err error) {
				scores[i*len(games)+k], err = g.score(working, name, o)
				return err
			})
		}
	}
	if err := work.Wait(); err != nil {
		return nil, err
	}
	for i, name := range o.Strategies {
		report.Strategies = append(report.Strategies, standing(name, scores[i*len(games):][:len(games)]))
	}
	return report, nil
}

func (o *Options) check(recordings []*Recording) error {
	if len(recordings) == 0 {
		return errors.New("there is no recording to simulate")
	}
	if o.Repeats < 0 {
		return fmt.Errorf("%d repeats: the number may not be negative", o.Repeats)
	}
	for _, r := range recordings {
		if r.Space.Len() < r.Metadata.Valid {
			return fmt.Errorf("%s holds only the part of the space that a search chose, %d of %d valid configurations: "+
				"random search does well there, and a score would say little", r.File, r.Space.Len(), r.Metadata.Valid)
		}
	}
	return nil
}

// score runs the repeats of a strategy, and returns their score and the scores of resampled repeats.
func (g *game) score(ctx context.Context, name string, o Options) (Score, error) {
	score := Score{Recording: g.Name}
	var samples []sample
	for repeat := range o.Repeats {
		s, err := strategy.New(name, g.Space, strategy.Options{Seed: o.Seed + uint64(repeat)})
		if err != nil {
			return score, err
		}
		for _, one := range g.play(ctx, s) {
			one.repeat = repeat
			samples = append(samples, one)
		}
	}
	slices.SortStableFunc(samples, func(a, b sample) int { return cmp.Compare(a.ms, b.ms) })
	score.Score = stat.Mean(g.curve(samples, slices.Repeat([]float64{1}, o.Repeats)), nil)
	rng, weights := rand.New(rand.NewPCG(o.Seed, 0xb007)), make([]float64, o.Repeats)
	for range resamples {
		if ctx.Err() != nil {
			return score, ctx.Err()
		}
		clear(weights)
		for range weights {
			weights[rng.IntN(len(weights))]++
		}
		score.resampled = append(score.resampled, stat.Mean(g.curve(samples, weights), nil))
	}
	score.CI95 = interval95(score.resampled)
	return score, nil
}

// resamples is the number of random resamples of the repeats, which estimate the uncertainty of a score.
const resamples = 200

// standing averages the scores of one strategy over all recordings, and averages the resampled scores to estimate the
// uncertainty of the mean.
func standing(name string, scores []Score) Standing {
	s := Standing{Strategy: name, Scores: scores}
	resampled := make([]float64, resamples)
	for _, one := range scores {
		s.Mean += one.Score / float64(len(scores))
		for i, v := range one.resampled {
			resampled[i] += v / float64(len(scores))
		}
	}
	s.CI95 = interval95(resampled)
	return s
}

// interval95 returns the interval that contains the middle 95 % of the scores.
func interval95(scores []float64) [2]float64 {
	s := slices.Sorted(slices.Values(scores))
	return [2]float64{trial.Quantile(s, 0.025), trial.Quantile(s, 0.975)}
}
