package tuner_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"autotune/device/trial"
	"autotune/internal/test/toy"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner"
)

// A variant that waits at the device is timed against the best time so far, which includes the variant evaluated just
// before it.
func TestRacesAgainstTheOneAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var want float64 // either kernel may be compiled first
		device := &fakeDevice{Evaluate: func(c space.Configuration) (trial.Outcome, error) {
			time.Sleep(time.Second)
			o, err := bowl(c)
			if want == 0 {
				want = o.Time.Median
			}
			return o, err
		}}
		search(t, toyProblem(t), device, tuner.Options{Budget: 2, Strategy: "exhaustive"})
		if got := device.Raced[:2]; !slices.Equal(got, []float64{0, want}) {
			t.Errorf("the first two race against %g, want 0 and %g", got, want)
		}
	})
}

const expected = "    estimate: 1 + abs(a - 2) + abs(b - 4)\n    launch:"

// hopeful returns the toy operator with a second template; only the second template has estimates of its times. In the
// operator that hopeful returns, the untuned default belongs to the first template.
func hopeful() string {
	both := strings.ReplaceAll(twoTemplates(toyOperator), "    launch:", expected)
	at := strings.Index(both, "    estimate:")
	return both[:at] + both[at+strings.Index(both[at:], "\n")+1:]
}

// After its time limit, a search still waits for variants with estimates clearly below those of all variants that
// worked. After its time limit, a search does not wait for variants whose estimates resemble those of variants that
// worked, and it never waits much longer than the limit.
func TestHopesForWhatPromisesMore(t *testing.T) {
	const limit = 13333 * time.Millisecond // 10 s of the limit are for trials
	other, both := hopeful(), strings.ReplaceAll(twoTemplates(toyOperator), "    launch:", expected)
	for _, test := range []struct {
		name, text string
		compiling  time.Duration // time that the other template's kernels take to compile
		most       time.Duration // longest time of the search
		wins       string
	}{
		{"promises more", other, 13 * time.Second, 13 * time.Second, "other"},
		{"takes too long", other, 40 * time.Second, 17 * time.Second, "plain"},
		{"promises as much", both, 13 * time.Second, 10 * time.Second, "plain"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				device := &fakeDevice{Evaluate: func(c space.Configuration) (trial.Outcome, error) {
					return took(map[string]float64{"plain": 100, "other": 1}[c.Template]), nil
				}}
				device.Compiling = func(k operator.Kernel) time.Duration {
					if k.Launches[0].Entry == "toy_other" {
						return test.compiling
					}
					return time.Second
				}
				began := time.Now()
				r := search(t, toy.Problem(t, test.text, 64), device, tuner.Options{Time: limit, Strategy: "random", Gating: "none"})
				wins, lasted := r.Winner.Configuration.Template, time.Since(began)
				if wins != test.wins || r.Stop != tuner.TimeSpent || lasted > test.most {
					t.Errorf("%s wins, stop %s after %v; want %s within %v", wins, r.Stop, lasted, test.wins, test.most)
				}
			})
		})
	}
}

// A default without an estimate is evaluated after variants with promising estimates, even if it is compiled earlier.
// The untuned default is evaluated when eight other variants have worked, or at once if none of them works.
func TestDefaultsWaitForWhatPromisesMore(t *testing.T) {
	text := hopeful()
	for _, test := range []struct {
		name    string
		works   bool // whether the other template's variants are correct
		least   int  // trials before the untuned default's
		longest int
	}{{"others work", true, 8, 10}, {"others fail", false, 5, 5}} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				device := &fakeDevice{Evaluate: func(c space.Configuration) (trial.Outcome, error) {
					time.Sleep(100 * time.Millisecond)
					if c.Template == "other" && !test.works {
						return trial.Outcome{Status: trial.WrongResult}, nil
					}
					return took(map[string]float64{"plain": 100, "other": 1}[c.Template]), nil
				}}
				device.Compiling = func(k operator.Kernel) time.Duration {
					return map[string]time.Duration{"toy_plain": time.Second, "toy_other": 5 * time.Second}[k.Launches[0].Entry]
				}
				_ = search(t, toy.Problem(t, text, 64), device, tuner.Options{Strategy: "exhaustive", Gating: "none"})
				if at := slices.Index(device.Evaluated, "plain a=1 b=1"); at < test.least || at > test.longest {
					t.Errorf("the default is number %d of %q, want %d to %d", at, device.Evaluated, test.least, test.longest)
				}
			})
		})
	}
}
