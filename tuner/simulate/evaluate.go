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
	"autotune/internal/lists"
	"autotune/tuner/strategy"
)

// Options say what to evaluate. The zero value is useful.
type Options struct {
	Strategies []string // by name; none: strategy.Default
	Repeats    int      // runs with different seeds; 0: 50
	Budget     int      // evaluations at which a run ends even if there is time; 0: none
	Seed       uint64   // of the first repeat
	Partial    bool     // also score on recordings of a part of their space
	// Devices are numbers of devices that evaluate side by side, each of which every
	// strategy is played with; none: one device. Ahead is for how many configurations a
	// device the strategy is asked ahead.
	Devices []int
	Ahead   int
}

// ErrPartial means that a recording holds only the part of a space that a search chose. Most of
// that is good. So random search does well on it, and scores say little about a search of the
// whole.
var ErrPartial = errors.New("only the part of the space that a search chose is recorded")

const defaultRepeats = 50

// Report is the evaluation of strategies on recordings.
type Report struct {
	Repeats    int        `json:"repeats"`
	Seed       uint64     `json:"seed"`
	Budget     int        `json:"budget,omitempty"`
	Ahead      int        `json:"ahead,omitempty"` // configurations asked for ahead of each device
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
	OfValid        int64   `json:"of_valid_configurations,omitempty"` // where Configurations are a part of these
	Best           float64 `json:"best"`
	Median         float64 `json:"median"`
	Window         Window  `json:"window"`
}

// Standing is how one strategy did.
type Standing struct {
	Strategy string   `json:"strategy"`
	Devices  int      `json:"devices,omitempty"` // side by side; absent: one
	Mean     float64  `json:"mean"`              // of the scores
	CI95     Interval `json:"ci95"`
	Scores   []Score  `json:"scores"` // by recording
}

// Label names the strategy, and the devices where there are several: "bayesian, 8 devices".
func (s Standing) Label() string {
	if s.Devices == 0 {
		return s.Strategy
	}
	return fmt.Sprintf("%s, %d devices", s.Strategy, s.Devices)
}

// Score is how one strategy did on one recording.
type Score struct {
	Recording string   `json:"recording"`
	Strategy  string   `json:"strategy"`
	Devices   int      `json:"devices,omitempty"` // side by side; absent: one
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
	report := &Report{Repeats: o.Repeats, Seed: o.Seed, Budget: o.Budget, Ahead: o.Ahead}
	games := make([]*game, len(recordings))
	for i, r := range recordings {
		games[i] = newGame(r)
		report.Recordings = append(report.Recordings, games[i].about())
	}
	var matches []*match
	for _, name := range o.Strategies {
		for _, devices := range o.Devices {
			for _, g := range games {
				runs := make([][]sample, o.Repeats)
				matches = append(matches, &match{game: g, strategy: name, crew: crew{devices, o.Ahead}, runs: runs})
			}
		}
	}
	if err := playAll(ctx, matches, o); err != nil {
		return nil, err
	}
	for ofOne := range slices.Chunk(matches, len(games)) {
		report.Strategies = append(report.Strategies, standing(ofOne))
	}
	return report, nil
}

func (o *Options) complete(recordings []*Recording) error {
	if len(recordings) == 0 {
		return errors.New("there is no recording to simulate")
	}
	if o.Repeats < 0 || o.Budget < 0 || o.Ahead < 0 {
		return fmt.Errorf("%d repeats with a budget of %d, %d ahead: none may be negative", o.Repeats, o.Budget, o.Ahead)
	}
	if slices.ContainsFunc(o.Devices, func(n int) bool { return n < 1 }) {
		return fmt.Errorf("devices %v: there must be one at least", o.Devices)
	}
	if len(o.Devices) == 0 {
		o.Devices = []int{1}
	}
	if err := checkWhole(recordings); err != nil && !o.Partial {
		return err
	}
	if len(o.Strategies) == 0 {
		o.Strategies = []string{strategy.Default}
	}
	for _, name := range o.Strategies {
		if err := strategy.Check(name); err != nil {
			return err
		}
	}
	o.Repeats = cmp.Or(o.Repeats, defaultRepeats)
	return nil
}

// checkWhole refuses recordings of parts of spaces; it names the first.
func checkWhole(recordings []*Recording) error {
	part := lists.Where(recordings, (*Recording).Partial)
	if len(part) == 0 {
		return nil
	}
	more := ""
	if len(part) > 1 {
		more = fmt.Sprintf(" (and %d more of the %d recordings are such parts)", len(part)-1, len(recordings))
	}
	return fmt.Errorf("%s: %w: it holds %d of %d valid configurations%s",
		part[0].File, ErrPartial, part[0].Space.Len(), part[0].Metadata.Valid, more)
}

// match is a strategy on a recording.
type match struct {
	*game
	strategy string
	crew
	runs  [][]sample // by repeat
	score Score
}

// playAll plays all repeats of the matches in parallel, then scores the matches.
func playAll(ctx context.Context, matches []*match, o Options) error {
	work, playing := inParallel(ctx)
	for _, m := range matches {
		for repeat := range m.runs {
			work.Go(func() error {
				if err := playing.Err(); err != nil {
					return err
				}
				s, err := strategy.New(m.strategy, m.Space, strategy.Options{Seed: o.Seed + uint64(repeat)})
				if err != nil {
					return err
				}
				m.runs[repeat] = m.play(playing, s, o.Budget, m.crew)
				return playing.Err()
			})
		}
	}
	if err := work.Wait(); err != nil {
		return err
	}
	work, scoring := inParallel(ctx)
	for _, m := range matches {
		work.Go(func() (err error) {
			m.score, err = m.scored(scoring, o.Seed)
			return err
		})
	}
	return work.Wait()
}

// inParallel is a group of tasks, as many at a time as there are processors.
func inParallel(ctx context.Context) (*errgroup.Group, context.Context) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	return group, ctx
}

func (m *match) scored(ctx context.Context, seed uint64) (Score, error) {
	p := pool(m.runs)
	curve := m.curve(p, slices.Repeat([]float64{1}, len(m.runs)))
	resampled, err := m.bootstrap(ctx, p, rand.New(rand.NewPCG(seed, 0xb007)))
	score := Score{
		Recording: m.Name, Strategy: m.strategy, Devices: m.devices, Score: stat.Mean(curve, nil),
		CI95: interval95(resampled), Repeats: len(m.runs), Curve: curve, resampled: resampled,
	}
	if m.devices == 1 {
		score.Devices = 0
	}
	return score, err
}

// standing averages the scores of one strategy, and their resamples one by one.
func standing(matches []*match) Standing {
	s := Standing{Strategy: matches[0].strategy, Devices: matches[0].score.Devices}
	resampled := make([]float64, resamples)
	for _, m := range matches {
		s.Scores = append(s.Scores, m.score)
		s.Mean += m.score.Score / float64(len(matches))
		for i, v := range m.score.resampled {
			resampled[i] += v / float64(len(matches))
		}
	}
	s.CI95 = interval95(resampled)
	return s
}

func (g *game) about() About {
	a := About{
		Name: g.Name, File: g.File, Kernel: g.Metadata.Problem.Operator, Device: g.Metadata.Device.Name,
		Configurations: g.Space.Len(), Valid: len(g.valid),
		Best: g.valid[0], Median: trial.Median(g.valid), Window: g.window,
	}
	if g.Partial() {
		a.OfValid = g.Metadata.Valid
	}
	return a
}
