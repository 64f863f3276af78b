package tuner_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"autotune/device/trial"
	"autotune/internal/test/toy"
	"autotune/space"
	"autotune/tuner"
)

// twoTemplates returns the toy operator's text with a second template, `other`, that has the same tunables.
func twoTemplates(text string) string {
	return text + strings.ReplaceAll(text[strings.Index(text, "  - name: plain"):], "plain", "other")
}

// A search stops trying a template whose kernels only crash and hang, and says so to the user. A search continues to
// try a template if some of its variants neither crash nor hang, or if the operator has no other template.
func TestHarmfulTemplates(t *testing.T) {
	for _, test := range []struct {
		name   string
		other  []trial.Status // statuses of trials of the template `other`, in order
		plain  trial.Status
		budget int
		most   int    // variants of `other`: two more may be with the device
		told   string // the first template's status in the notice
	}{
		{"crashes", []trial.Status{trial.Crashed}, trial.OK, 40, 3 + 2, "crashed"},
		{"hangs and crashes", []trial.Status{trial.Timeout, trial.Crashed}, trial.OK, 40, 3 + 2, "timeout"},
		{"wrong", []trial.Status{trial.WrongResult}, trial.OK, 40, 40, ""},
		{"one is only wrong", []trial.Status{trial.Crashed, trial.WrongResult}, trial.OK, 40, 40, ""},
		{"all crash", []trial.Status{trial.Crashed}, trial.Crashed, 40, 40, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var mu sync.Mutex
			evaluated := map[string]int{}
			evaluate := func(c space.Configuration) (trial.Outcome, error) {
				mu.Lock()
				defer mu.Unlock()
				status := test.plain
				if c.Template == "other" {
					status = test.other[evaluated["other"]%len(test.other)]
				}
				evaluated[c.Template]++
				if status != trial.OK {
					return trial.Outcome{Status: status, Message: "bad"}, nil
				}
				return bowl(c)
			}
			p := toy.Problem(t, twoTemplates(wideToy(20)), 64)
			r, err := tuner.Search(t.Context(), p, &fakeDevice{Evaluate: evaluate}, tuner.Options{Budget: test.budget, Strategy: "random", Seed: 3})
			if (err != nil) != (test.plain != trial.OK) {
				t.Fatal(err)
			}
			if n := len(r.Trials); n > test.budget || n < test.budget-8 { // some of the budget may have been compiled in vain
				t.Errorf("%d trials, want %d", n, test.budget)
			}
			if n := evaluated["other"]; n > test.most || test.told == "" && n < 8 {
				t.Errorf("%d variants of `other` were evaluated, want at most %d", n, test.most)
			}
			want := ""
			if test.told != "" {
				want = "template other is given up: its variants crash or hang, and none ended; the first, " + test.told + ": bad"
			}
			told := slices.DeleteFunc(r.Warnings, func(w string) bool { return strings.HasPrefix(w, "nothing mentions") })
			if got := strings.Join(told, "\n"); got != want {
				t.Errorf("warnings %q, want %q", got, want)
			}
		})
	}
}
