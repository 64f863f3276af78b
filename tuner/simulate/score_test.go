package simulate

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"autotune/internal/test/must"
	"autotune/tuner/strategy"
)

func part(t *testing.T) *Recording {
	t.Helper()
	r, err := Load(t.Context(), "testdata/pnpoly__part.json.gz")
	must.OK(t, err)
	return r
}

// scripted is a strategy that proposes a fixed list of configurations.
type scripted []int64

func (s *scripted) Ask() (id int64, ok bool) {
	if ok = len(*s) > 0; ok {
		id, *s = (*s)[0], (*s)[1:]
	}
	return id, ok
}

func (s *scripted) Tell(int64, strategy.Outcome) {}

func TestPlay(t *testing.T) {
	g := &game{
		Recording: &Recording{Rows: []Row{{true, 3, 10}, {false, 0, 7}, {true, 1, 5}, {true, 2, 100}, {true, 9, 1}}},
		ranks:     []int{2, 0, 0, 1, 3}, untilMS: 120,
	}
	// A failure before the first success takes simulated time, but adds no sample to the run's curve. A run ends
	// after the first evaluation that exceeds the run's time.
	got := g.play(t.Context(), &scripted{1, 0, 2, 3, 4})
	if want := []sample{{17, 2, 0}, {22, 0, 0}, {122, 0, 0}}; !slices.Equal(got, want) {
		t.Errorf("samples %v, want %v", got, want)
	}
}

func TestEvaluate(t *testing.T) {
	r := part(t)
	o := Options{Strategies: []string{"random", "bayesian"}, Repeats: 12, Seed: 3}
	report, err := Evaluate(context.Background(), []*Recording{r}, o)
	must.OK(t, err)
	random, model := report.Strategies[0], report.Strategies[1]
	if model.Mean <= random.Mean || math.Abs(random.Mean) > 0.5 {
		t.Errorf("random scores %.2f, bayesian %.2f", random.Mean, model.Mean)
	}
	for _, s := range report.Strategies {
		score := s.Scores[0]
		if s.Mean != score.Score || s.CI95[0] > s.Mean+0.2 || s.CI95[1] < s.Mean-0.2 {
			t.Errorf("%s: %+v", s.Strategy, s)
		}
	}
	// A second evaluation gives the same scores, although goroutines run in another order.
	again, err := Evaluate(context.Background(), []*Recording{r}, o)
	must.OK(t, err)
	if again.Strategies[1].Mean != model.Mean || again.Strategies[1].CI95 != model.CI95 {
		t.Errorf("again %v %v, at first %v %v", again.Strategies[1].Mean, again.Strategies[1].CI95, model.Mean, model.CI95)
	}
}

func TestEvaluateErrors(t *testing.T) {
	r := part(t)
	for want, o := range map[string]Options{
		`unknown strategy "x"`: {Strategies: []string{"x"}},
		"negative":             {Repeats: -1},
	} {
		if _, err := Evaluate(context.Background(), []*Recording{r}, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	if _, err := Evaluate(context.Background(), nil, Options{}); err == nil {
		t.Error("no recording, no error")
	}
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Evaluate(stopped, []*Recording{r}, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Scores on a recording with two configurations are finite.
func TestEvaluateTinyRecording(t *testing.T) {
	r, err := read(strings.NewReader(`{"tune_params_keys": ["x"], "tune_params": {"x": [1, 2]},
		"cache": {"1": {"time": 1}, "2": {"time": 1}}}`))
	must.OK(t, err)
	report, err := Evaluate(context.Background(), []*Recording{r}, Options{Strategies: strategy.Names(), Repeats: 2})
	must.OK(t, err)
	for _, s := range report.Strategies {
		if math.IsNaN(s.Mean) || math.IsInf(s.Mean, 0) {
			t.Errorf("%s scores %v", s.Strategy, s.Mean)
		}
	}
}
