package tuner

import (
	"slices"
	"strings"
	"testing"

	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/internal/test/toy"
	"autotune/operator"
	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/final"
	"autotune/tuner/strategy"
)

// wishes is a strategy that proposes a fixed list of configurations.
type wishes struct {
	ids  []int64
	told []int64
}

func (w *wishes) Ask() (id int64, ok bool) {
	if ok = len(w.ids) > 0; ok {
		id, w.ids = w.ids[0], w.ids[1:]
	}
	return id, ok
}

func (w *wishes) Tell(id int64, _ strategy.Outcome) { w.told = append(w.told, id) }

// threadsProblem returns a toy problem with three configurations of one template.
func threadsProblem(t *testing.T) *operator.Problem {
	return toy.Problem(t, toy.OpYAML("m", "tunables: {threads: [32, 64, 128]}", "default: {threads: 64}"), 1000)
}

func timed(threads int64, samples ...float64) trial.Trial {
	x := trial.Trial{Configuration: space.Configuration{
		Template: "plain", Values: space.Values{{Name: "threads", Value: expr.Int(threads)}},
	}}
	x.Status = trial.OK
	x.SetSamples(samples, 1)
	return x
}

// courseOf returns a course, which decides what a search tries next, through the three configurations of
// threadsProblem.
func courseOf(t *testing.T, s strategy.Strategy, l *ledger, first ...int64) (c *course, warned *[]string) {
	t.Helper()
	p := threadsProblem(t)
	sp, err := p.Space(t.Context())
	must.OK(t, err)
	warned = new([]string)
	return &course{
		kernel: p.Kernel, space: sp, field: final.NewField(-1, nil), ledger: l, strategy: s, first: first,
		warn: func(text string) { *warned = append(*warned, text) }, begun: map[int64]int{}, conducts: map[int]*conduct{},
	}, warned
}

// walk begins every configuration that a course offers, and returns them in order.
func walk(t *testing.T, c *course) (ids []int64) {
	t.Helper()
	for {
		id, ok := c.next()
		if !ok {
			return ids
		}
		c.begin(id)
		ids = append(ids, id)
	}
}

// A course tries the configurations in `first` before those of the strategy, and none of them twice; in a recheck
// it tries only the configurations in `first`.
func TestCourse(t *testing.T) {
	c, _ := courseOf(t, &wishes{ids: []int64{1, 0, 2, 0}}, &ledger{}, 2, 2)
	if got := walk(t, c); !slices.Equal(got, []int64{2, 1, 0}) {
		t.Errorf("tried %v", got)
	}
	c, _ = courseOf(t, &wishes{ids: []int64{0}}, &ledger{}, 1)
	c.recheck = true
	if got := walk(t, c); !slices.Equal(got, []int64{1}) {
		t.Errorf("a recheck tried %v", got)
	}
}

// A template whose variants only crash or hang is given up, with one warning, once another template has a correct
// trial.
func TestCourseSetsAside(t *testing.T) {
	for _, test := range []struct {
		statuses []trial.Status
		best     bool
		aside    bool
	}{
		{[]trial.Status{trial.Crashed, trial.Crashed, trial.Crashed}, true, true},
		{[]trial.Status{trial.Timeout, trial.Timeout}, true, true},
		{[]trial.Status{trial.Crashed, trial.Crashed}, true, false},
		{[]trial.Status{trial.Crashed, trial.Crashed, trial.Crashed}, false, false},
		{[]trial.Status{trial.Crashed, trial.WrongResult, trial.Crashed, trial.Crashed}, true, false},
	} {
		c, warned := courseOf(t, &wishes{}, &ledger{})
		if test.best {
			c.field.Enter(0, timed(32, 1))
		}
		for _, status := range test.statuses {
			bad := timed(64)
			bad.Fail(status, "bad")
			c.watch(1, bad)
		}
		first, second := c.setAside(1), c.setAside(1) // the second call must not warn again
		if first != test.aside || second != test.aside || (len(*warned) == 1) != test.aside {
			t.Errorf("%v: want %v; warned %q", test.statuses, test.aside, *warned)
		}
		if test.aside && !strings.HasPrefix((*warned)[0], "template plain is given up: ") {
			t.Errorf("warned %q", *warned)
		}
	}
}
