package tuner_test

import (
	"path/filepath"
	"strings"
	"testing"

	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/operator"
	"autotune/tuner"
	"autotune/tuner/strategy"
	"autotune/tuner/winners"
)

// The search of a part of the space knows the size of the whole space, reports every trial that it evaluates, and says
// which part it searched. The cache keeps the fastest known winner.
func TestSearchOfAPart(t *testing.T) {
	store := openStore(t, filepath.Join(t.TempDir(), "cache.db"))
	search := func(only operator.Restriction, driver string) (*tuner.Result, []trial.Trial) {
		t.Helper()
		var told []trial.Trial
		r, err := tuner.Search(t.Context(), toyProblem(t), &fakeDevice{Evaluate: bowl, Driver: driver}, tuner.Options{
			Only: only, Store: store, Evaluated: func(one trial.Trial) { told = append(told, one) },
		})
		must.OK(t, err)
		return r, told
	}
	kept := func() string {
		t.Helper()
		winners, err := winners.List(store, "toy")
		if err != nil || len(winners) != 1 {
			t.Fatal(winners, err)
		}
		return winners[0].Winner.Configuration.String() + " of " + winners[0].Part
	}

	r, told := search(operator.Restriction{Where: []string{"a == 1"}}, "1")
	if r.Valid != 14 || len(r.Trials) != 4 || len(told) != 4 || r.Part != "where a == 1" || r.Stop != tuner.Exhausted {
		t.Errorf("%d valid, %d trials, %d told, part %q, stop %q", r.Valid, len(r.Trials), len(told), r.Part, r.Stop)
	}
	if !strings.Contains(strings.Join(r.Warnings, "\n"), "4 of 14 configurations: where a == 1") {
		t.Errorf("warnings %v", r.Warnings)
	}
	if got := kept(); got != "plain a=1 b=3 of where a == 1" {
		t.Errorf("with nothing kept before, %s is kept", got)
	}
	// A search of the whole space takes over the trials of an earlier search that was restricted to a part.
	r, told = search(operator.Restriction{}, "1")
	if r.Resumed != 4 || len(told) != 10 || r.Part != "" {
		t.Errorf("%d resumed, %d told, part %q", r.Resumed, len(told), r.Part)
	}
	best := kept()
	if best != "plain a=4 b=3 of " {
		t.Errorf("the whole's winner is kept as %s", best)
	}
	// The slower winner of a part does not replace the stored winner, and a warning says so.
	r, told = search(operator.Restriction{Fixed: map[string]string{"a": "8", "b": "1"}}, "1")
	if got := kept(); got != best || len(told) != 0 || r.Winner.Configuration.String() != "plain a=8 b=1" {
		t.Errorf("after a slower part %s is kept, %d told, winner %s", got, len(told), r.Winner.Configuration)
	}
	if !strings.Contains(strings.Join(r.Warnings, "\n"), "the cache keeps the winner that it has, which is faster") {
		t.Errorf("warnings %v", r.Warnings)
	}
	// The stored winner was found under another driver, so its time cannot be compared and it is replaced.
	search(operator.Restriction{Templates: []string{"plain"}, Where: []string{"b == 1"}}, "2")
	if got := kept(); got != "plain a=4 b=1 of template plain, where b == 1" {
		t.Errorf("under another driver %s is kept", got)
	}
}

// Every strategy can search a space in which each tunable has only one value left.
func TestStrategiesOnOneConfiguration(t *testing.T) {
	for _, name := range strategy.Names() {
		for _, only := range []operator.Restriction{
			{Fixed: map[string]string{"a": "4", "b": "3"}},
			{Where: []string{"a == 4 and b == 3"}},
			{Where: []string{"b == 2"}},
		} {
			part, err := toyProblem(t).Part(only)
			must.OK(t, err)
			r, err := tuner.Search(t.Context(), part.Problem, &fakeDevice{Evaluate: bowl}, tuner.Options{Only: only, Strategy: name, Target: 1.05})
			if err != nil {
				t.Errorf("%s: %s: %v", name, only, err)
				continue
			}
			if s, err := part.Space(t.Context()); err != nil || r.Stop != tuner.Exhausted || int64(len(r.Trials)) != s.Len() {
				t.Errorf("%s: %s: stop %q with %d trials", name, only, r.Stop, len(r.Trials))
			}
		}
	}
}
