package tuner_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/internal/test/toy"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner"
	"autotune/tuner/store"
	"autotune/tuner/winners"
)

// bowl evaluates a configuration of the toy operator; the fastest, a=4 b=3, takes 1 ms.
func bowl(c space.Configuration) (trial.Outcome, error) {
	a, b := float64(number(c, "a")), float64(number(c, "b"))
	return took(1 + (a-4)*(a-4) + (b-3)*(b-3)), nil
}

func TestSearchFindsTheFastest(t *testing.T) {
	d := &fakeDevice{Evaluate: bowl}
	r := search(t, toyProblem(t), d, tuner.Options{Strategy: "random"})
	if number(r.Winner.Configuration, "a") != 4 || number(r.Winner.Configuration, "b") != 3 {
		t.Errorf("winner %v, want a=4 b=3", r.Winner.Configuration)
	}
	if len(r.Trials) != 14 || r.Valid != 14 || r.Stop != tuner.Exhausted {
		t.Errorf("%d trials of %d valid, stop %q; want all 14 and exhausted", len(r.Trials), r.Valid, r.Stop)
	}
	if d.Evaluated[0] != "plain a=1 b=1" && r.Default == nil {
		t.Errorf("the default was not evaluated")
	}
	want := map[string]float64{"default": 14, "reference": 100}
	for _, b := range r.Baselines {
		if want[b.Name] != b.TimeMS {
			t.Errorf("baseline %s is %g ms, want %g", b.Name, b.TimeMS, want[b.Name])
		}
	}
}

// A variant that fails gets a trial with the status of the failure, and does not end the search.
func TestSearchSurvivesBadVariants(t *testing.T) {
	statuses := []trial.Status{trial.WrongResult, trial.Timeout, trial.Crashed, trial.LaunchError, trial.Pruned}
	d := &fakeDevice{
		Refuse: func(k operator.Kernel) error {
			for _, m := range k.Macros {
				if m.Name == "A" && m.Value == "8" {
					return &compile.Error{File: "plain.cu", Line: 1, Message: "refused"}
				}
			}
			return nil
		},
		Evaluate: func(c space.Configuration) (trial.Outcome, error) {
			if number(c, "a") == 2 {
				return trial.Outcome{Status: statuses[number(c, "b")]}, nil
			}
			return bowl(c)
		},
	}
	r := search(t, toyProblem(t), d, tuner.Options{})
	counts := r.ByStatus
	if counts[trial.CompileError] != 2 || counts[trial.Timeout] != 1 || counts[trial.OK] != 8 {
		t.Errorf("statuses %v", counts)
	}
}

func TestSearchWithoutOneValidVariant(t *testing.T) {
	d := &fakeDevice{Evaluate: func(space.Configuration) (trial.Outcome, error) {
		return trial.Outcome{Status: trial.WrongResult, Message: "off by one"}, nil
	}}
	r, err := tuner.Search(t.Context(), toyProblem(t), d, tuner.Options{})
	if !errors.Is(err, tuner.ErrNoVariant) || r == nil || len(r.Trials) != 14 {
		t.Errorf("error %v; want ErrNoVariant with the trials", err)
	}
}

func TestSearchEndsWhenTheDeviceDoes(t *testing.T) {
	broken := errors.New("the bus caught fire")
	d := &fakeDevice{Evaluate: func(space.Configuration) (trial.Outcome, error) { return trial.Outcome{}, broken }}
	if _, err := tuner.Search(t.Context(), toyProblem(t), d, tuner.Options{}); !errors.Is(err, broken) {
		t.Errorf("error %v; want the device's", err)
	}
}

func TestBudget(t *testing.T) {
	d := &fakeDevice{Evaluate: bowl}
	r := search(t, toyProblem(t), d, tuner.Options{Budget: 5})
	if len(r.Trials) != 5 || r.Stop != tuner.BudgetSpent {
		t.Errorf("%d trials, stop %q; want 5 and budget", len(r.Trials), r.Stop)
	}
}

// When its time is up, a search drops the variants under way, but only if it already has a winner.
func TestTimeEndsTheSearch(t *testing.T) {
	for _, limit := range []time.Duration{time.Nanosecond, 50 * time.Millisecond} {
		d := &fakeDevice{Evaluate: bowl}
		d.Hangs = func(k operator.Kernel) bool {
			return k.Launches[0].Entry == "toy_plain" && !slices.ContainsFunc(k.Macros, func(m operator.Macro) bool { return m.Name == "A" && m.Value == "1" })
		}
		r := search(t, toyProblem(t), d, tuner.Options{Time: limit, Budget: 9})
		if r.Stop != tuner.TimeSpent || r.Winner == nil || len(r.Trials) > 4 {
			t.Errorf("%v: stop %q with %d trials, winner %v; want time, 1 to 4 and one", limit, r.Stop, len(r.Trials), r.Winner)
		}
	}
}

func TestInterruptedSearchKeepsWhatWasDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	d := &fakeDevice{}
	d.Evaluate = func(c space.Configuration) (trial.Outcome, error) {
		if n++; n == 4 {
			cancel()
		}
		return bowl(c)
	}
	s := openStore(t, filepath.Join(t.TempDir(), "cache.db"))
	r, err := tuner.Search(ctx, toyProblem(t), d, tuner.Options{Store: s})
	must.OK(t, err)
	if r.Stop != tuner.Interrupted || len(r.Trials) < 3 || r.Winner == nil {
		t.Errorf("stop %q with %d trials; want interrupted with about 4", r.Stop, len(r.Trials))
	}
	kept := len(r.Trials)
	again := search(t, toyProblem(t), &fakeDevice{Evaluate: bowl}, tuner.Options{Store: s})
	if again.Resumed != kept || len(again.Trials) != 14 {
		t.Errorf("resumed %d of %d trials; want %d of 14", again.Resumed, len(again.Trials), kept)
	}
}

func TestSecondSearchEvaluatesNothing(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "cache.db"))
	first := &fakeDevice{Evaluate: bowl}
	one := search(t, toyProblem(t), first, tuner.Options{Store: s, Budget: 6, Seed: 7})
	second := &fakeDevice{Evaluate: bowl}
	two := search(t, toyProblem(t), second, tuner.Options{Store: s, Budget: 6, Seed: 7})
	if len(second.Evaluated) != 0 || second.Opened != 0 {
		t.Errorf("the second search evaluated %v and opened the device %d times", second.Evaluated, second.Opened)
	}
	if two.Winner.Time != one.Winner.Time || len(two.Baselines) != len(one.Baselines) {
		t.Errorf("the second search answers %+v with %v, the first %+v with %v", two.Winner.Time, two.Baselines, one.Winner.Time, one.Baselines)
	}
}

// A search does not reuse a trial with another provenance.
func TestOtherProvenanceIsNotReused(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "cache.db"))
	if _, err := tuner.Search(t.Context(), toyProblem(t), &fakeDevice{Evaluate: bowl}, tuner.Options{Store: s}); err != nil {
		t.Fatal(err)
	}
	protocol := device.DefaultProtocol()
	protocol.Samples = 99
	for _, test := range []struct {
		name string
		d    *fakeDevice
		o    tuner.Options
	}{
		{"another driver", &fakeDevice{Evaluate: bowl, Driver: "999"}, tuner.Options{}},
		{"another protocol", &fakeDevice{Evaluate: bowl}, tuner.Options{Protocol: protocol}},
		{"asked for fresh", &fakeDevice{Evaluate: bowl}, tuner.Options{Fresh: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.o.Store = s
			r := search(t, toyProblem(t), test.d, test.o)
			if r.Resumed != 0 || len(test.d.Evaluated) < 14 {
				t.Errorf("resumed %d, evaluated %d; want 0 and all 14", r.Resumed, len(test.d.Evaluated))
			}
		})
	}
}

// A search starts from the winners of the most similar problems, or from valid configurations next to them.
func TestStartsFromTheNearestProblem(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "cache.db"))
	if _, err := tuner.Search(t.Context(), toyProblem(t), &fakeDevice{Evaluate: bowl}, tuner.Options{Store: s}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		n     int64
		early []string
	}{
		{128, []string{"plain a=4 b=3"}},
		{1000, []string{"plain a=4 b=2", "plain a=2 b=3", "plain a=2 b=4"}}, // the winner, with a*b = 12, is not valid here
	} {
		d := &fakeDevice{Evaluate: bowl}
		r := search(t, toy.Problem(t, toyOperator, test.n), d, tuner.Options{Store: s, Budget: 2})
		if len(r.StartedFrom) == 0 || r.StartedFrom[0] != "toy 64" && r.StartedFrom[0] != "toy 128" {
			t.Errorf("n=%d: started from %q", test.n, r.StartedFrom)
		}
		if !slices.ContainsFunc(test.early, func(c string) bool { return slices.Contains(d.Evaluated, c) }) {
			t.Errorf("n=%d: evaluated %q; want one of %q among the first", test.n, d.Evaluated, test.early)
		}
	}
}

// A variant whose first median was small by luck does not win.
func TestFinals(t *testing.T) {
	for _, test := range []struct {
		name    string
		again   trial.Outcome // final outcome of a=2 b=2, which looks fastest at first
		winnerA int64
	}{
		{"the lucky one falls behind", took(9), 4},
		{"the lucky one fails", trial.Outcome{Status: trial.WrongResult, Message: "sometimes"}, 4},
		{"the leader stays", took(0.5), 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			seen := 0
			d := &fakeDevice{Evaluate: func(c space.Configuration) (trial.Outcome, error) {
				if number(c, "a") != 2 || number(c, "b") != 2 {
					return bowl(c)
				}
				if seen++; seen == 1 {
					return took(0.5), nil
				}
				return test.again, nil
			}}
			s := openStore(t, filepath.Join(t.TempDir(), "cache.db"))
			r := search(t, toyProblem(t), d, tuner.Options{Store: s})
			if number(r.Winner.Configuration, "a") != test.winnerA || r.Winner.Time.Samples != 3*finalSamples {
				t.Errorf("winner %v with %d samples; want a=%d with those of three rounds", r.Winner.Configuration, r.Winner.Time.Samples, test.winnerA)
			}
			if total := r.ByStatus[trial.OK] + r.ByStatus[trial.WrongResult]; total != 14 || r.Spent.Finals == 0 {
				t.Errorf("%v after %v of finals; want 14 trials", r.ByStatus, r.Spent.Finals)
			}
			// The cache remembers the results of the finals.
			again, err := tuner.Search(t.Context(), toyProblem(t), &fakeDevice{Evaluate: bowl}, tuner.Options{Store: s})
			if err != nil || again.Winner.Time != r.Winner.Time || again.Resumed != 14 {
				t.Errorf("searched again: %+v, %v; want the same winner from the cache", again.Winner, err)
			}
		})
	}
}

// finalSamples is the number of samples that the fake device takes of a variant in a round of the finals.
const finalSamples = 3

func openStore(t *testing.T, path string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), path, store.Options{})
	must.OK(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// A search uses the distribution that the operator lists first, unless the given protocol names another.
func TestSearchesOnTheFirstDistribution(t *testing.T) {
	p := toyProblem(t)
	p.Operator.Inputs = []string{"normal", "uniform01"}
	r := search(t, p, &fakeDevice{Evaluate: bowl}, tuner.Options{Budget: 2})
	if got := r.Protocol.Distribution; got != "normal" {
		t.Errorf("searched on %q, want the operator's first, normal", got)
	}
}

// A resumed search lists its trials in the order in which they were evaluated, however often it is resumed.
func TestResumedInTheOrderOfEvaluation(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "cache.db"))
	first := search(t, toyProblem(t), &fakeDevice{Evaluate: bowl}, tuner.Options{Store: s})
	want := configurations(first)
	for range 3 {
		again := search(t, toyProblem(t), &fakeDevice{Evaluate: bowl}, tuner.Options{Store: s})
		if got := configurations(again); again.Resumed != len(want) || !slices.Equal(got, want) {
			t.Fatalf("resumed %d trials as\n%q, evaluated as\n%q", again.Resumed, got, want)
		}
	}
}

func configurations(r *tuner.Result) []string {
	var all []string
	for _, t := range r.Trials {
		all = append(all, fmt.Sprint(t.Configuration))
	}
	return all
}

// Winners are listed from the newest to the oldest, whatever the order of their problems in the store.
func TestWinnersNewestFirst(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "cache.db"))
	for _, n := range []int64{64, 256, 16, 128} {
		if _, err := tuner.Search(t.Context(), toy.Problem(t, toyOperator, n), &fakeDevice{Evaluate: bowl}, tuner.Options{Store: s, Budget: 2}); err != nil {
			t.Fatal(err)
		}
	}
	records, err := winners.List(s, "toy")
	must.OK(t, err)
	var got []string
	for _, r := range records {
		got = append(got, r.Problem.Text)
	}
	if want := []string{"toy 128", "toy 16", "toy 256", "toy 64"}; !slices.Equal(got, want) {
		t.Errorf("winners of %q, want %q", got, want)
	}
}

// A search with a time limit ends even if the reference never finishes, and the progress report says what the search
// waits for.
func TestTimeCountsTheReference(t *testing.T) {
	d := &fakeDevice{Evaluate: bowl, OpenHangs: true}
	var phases []tuner.Phase
	begin := time.Now()
	r, err := tuner.Search(t.Context(), toyProblem(t), d, tuner.Options{
		Time: 50 * time.Millisecond, Observe: func(p tuner.Progress) { phases = append(phases, p.Phase) },
	})
	if !errors.Is(err, tuner.ErrNoVariant) || r == nil || r.Stop != tuner.TimeSpent || !strings.Contains(err.Error(), "reference was still being computed") {
		t.Errorf("%v; want no variant within the time, for the reference's sake", err)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	if len(phases) < 2 || phases[0] != tuner.Preparing || phases[len(phases)-1] != tuner.Preparing {
		t.Errorf("the caller heard %q", phases)
	}
}

// A store that cannot keep trials ends the search. A search whose store fails returns the trials that ended before the
// failure.
func TestStoreThatFails(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "cache.db"))
	n := 0
	d := &fakeDevice{Evaluate: func(c space.Configuration) (trial.Outcome, error) {
		if n++; n == 2 {
			s.Close()
		}
		time.Sleep(100 * time.Millisecond)
		return bowl(c)
	}}
	r, err := tuner.Search(t.Context(), toyProblem(t), d, tuner.Options{Store: s})
	if err == nil || !strings.Contains(err.Error(), "cache") {
		t.Fatalf("error %v; want the store's", err)
	}
	if r == nil || r.Winner == nil || r.Stop != tuner.CacheFailed || len(r.Trials) == 14 {
		t.Errorf("%+v; want what was known until then", r)
	}
}
