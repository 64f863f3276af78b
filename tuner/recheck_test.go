package tuner_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner"
)

// If the winner in the cache was found with another driver, a search tries it first together with the default, and the
// result says so.
func TestWinnerOfAnotherDriverIsTriedFirst(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "cache.db"))
	if _, err := tuner.Search(t.Context(), toyProblem(t), &fakeDevice{Evaluate: bowl, Driver: "1"}, tuner.Options{Store: s}); err != nil {
		t.Fatal(err)
	}
	d := &fakeDevice{Evaluate: bowl, Driver: "2"}
	r := search(t, toyProblem(t), d, tuner.Options{Store: s, Budget: 2})
	tried := slices.Compact(slices.Sorted(slices.Values(d.Evaluated)))
	if want := []string{"plain a=1 b=1", "plain a=4 b=3"}; !slices.Equal(tried, want) || r.Winner.String() != want[1] {
		t.Errorf("tried %q, winner %s; want %q", tried, r.Winner, want)
	}
	if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "was measured with driver 1:") }) {
		t.Errorf("warnings %q", r.Warnings)
	}
}

// A search with the option Recheck tries only the configurations in First and the untuned default.
func TestRecheckOfAWinnerFromElsewhere(t *testing.T) {
	p, d := toyProblem(t), &fakeDevice{Evaluate: bowl}
	c := p.Defaults(t.Context())[0]
	c.Values = slices.Clone(c.Values)
	c.Values[0].Value = expr.Int(4)
	r, err := tuner.Search(t.Context(), p, d, tuner.Options{Recheck: true, First: []space.Configuration{c, {Template: "gone"}}})
	if err != nil || len(r.Trials) != 2 || r.Winner.Key() != c.Key() || r.Gates == nil {
		t.Errorf("%v, %v", r, err)
	}
}
