package tuner_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"autotune/internal/test/toy"
	"autotune/operator"
	"autotune/tuner"
)

// In a space of any size, a search first tries the configurations with the lowest estimates and one default; no two of
// these configurations share the value of a tunable.
func TestLikelyFirst(t *testing.T) {
	for _, test := range []struct {
		name, text string
		a, b       int64 // the configuration with the lowest estimate
		budget     int
		best, all  int64 // largest distance from that configuration for the best trial, and for all trials
	}{
		{"small", toyOperator, 4, 3, 3, 0, 4},
		{"sampled", wideToy(1000), 900, 800, 8, 30, 90},
	} {
		t.Run(test.name, func(t *testing.T) {
			estimate := fmt.Sprintf("    estimate: abs(a - %d) + abs(b - %d)\n    launch:", test.a, test.b)
			p := toy.Problem(t, strings.Replace(test.text, "    launch:", estimate, 1), 64)
			r := search(t, p, &fakeDevice{Evaluate: bowl}, tuner.Options{Budget: test.budget, Strategy: "random"})
			var likely [][2]int64
			best := test.all
			for _, x := range r.Trials {
				a, b := number(x.Configuration, "a"), number(x.Configuration, "b")
				if a == 1 && b == 1 {
					continue // the default is not checked
				}
				away := max(a-test.a, test.a-a) + max(b-test.b, test.b-b)
				if away > test.all {
					t.Errorf("tried %v, %d from the lowest estimate; want at most %d", x.Configuration, away, test.all)
				}
				best = min(best, away)
				for _, other := range likely {
					if a == other[0] || b == other[1] {
						t.Errorf("tried a=%d b=%d and %v, which are alike", other[0], other[1], x.Configuration)
					}
				}
				likely = append(likely, [2]int64{a, b})
			}
			if len(likely) != test.budget-1 || best > test.best || r.Default == nil {
				t.Errorf("tried %v and the default %v; want %d and it, the best at most %d from the lowest estimate", likely, r.Default, test.budget-1, test.best)
			}
		})
	}
}

// If one template has all the lowest estimates, the first configurations still include some configurations of other
// templates.
func TestLikelyOfTemplates(t *testing.T) {
	text := strings.Replace(wideToy(100), "    launch:", "    estimate: abs(a - 80) + abs(b - 90)\n    launch:", 1)
	text = twoTemplates(text)
	at := strings.Index(text, "  - name: other")
	text = text[:at] + strings.Replace(text[at:], "estimate: ", "estimate: 1000 + ", 1)
	for budget, want := range map[int]map[string]int{
		5: {"plain": 4},
		9: {"plain": 5, "other": 3},
	} {
		r := search(t, toy.Problem(t, text, 64), &fakeDevice{Evaluate: bowl}, tuner.Options{Budget: budget, Strategy: "random"})
		of := map[string]int{}
		for _, x := range r.Trials {
			if number(x.Configuration, "a") != 1 || number(x.Configuration, "b") != 1 { // count all but the defaults
				of[x.Configuration.Template]++
			}
		}
		if !maps.Equal(of, want) {
			t.Errorf("of %d trials, %v; want %v and a default", budget, of, want)
		}
	}
}

// If the device takes longer to prepare than the search may take, the search evaluates the variant with the lowest
// estimate, not the one that was compiled first.
func TestLikelyBeforeTimeIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := strings.Replace(toyOperator, "    launch:", "    estimate: abs(a - 2) + abs(b - 4)\n    launch:", 1)
		device := &fakeDevice{Evaluate: bowl, Opening: time.Minute, Compiling: func(k operator.Kernel) time.Duration {
			if slices.Contains(k.Macros, operator.Macro{Name: "A", Value: "2"}) && slices.Contains(k.Macros, operator.Macro{Name: "B", Value: "4"}) {
				return 30 * time.Second
			}
			return time.Second
		}}
		r := search(t, toy.Problem(t, text, 64), device, tuner.Options{Time: 40 * time.Second, Strategy: "random"})
		if a, b := number(r.Winner.Configuration, "a"), number(r.Winner.Configuration, "b"); a != 2 || b != 4 {
			t.Errorf("the winner is a=%d b=%d of %v, want the lowest estimate, a=2 b=4", a, b, device.Evaluated)
		}
	})
}
