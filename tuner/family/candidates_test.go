package family

import (
	"fmt"
	"testing"

	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner"
)

// near keeps the configurations that are nearly as fast as the fastest one of a search, in ascending order of time.
func TestRivals(t *testing.T) {
	var r tuner.Result
	add := func(status trial.Status, ms float64) {
		one := trial.Trial{Configuration: space.Configuration{Template: fmt.Sprint(len(r.Trials))}}
		one.Status, one.Time.Median = status, ms
		r.Trials = append(r.Trials, one)
	}
	add(trial.OK, 2.1)
	add(trial.WrongResult, 1)
	add(trial.OK, 2)
	add(trial.OK, 2.2)
	if all := near(triedIn(&r)); len(all) != 2 || all[0].Template != "2" || all[1].Template != "0" || all[1].Ratio != 1.05 {
		t.Errorf("%+v", all)
	}
	for range 2 * policy.mostNear {
		add(trial.OK, 2.01)
	}
	if all := near(triedIn(&r)); len(all) != policy.mostNear {
		t.Errorf("%d", len(all))
	}
}

// poolWith returns the plan of a max_pool2d family, the problems of the plan's samples, and all configurations of the
// first problem.
func poolWith(t *testing.T, shapes ...[]int64) (Plan, []*operator.Problem, []space.Configuration) {
	t.Helper()
	plan := Plan{Request: request(t, "max_pool2d"), Samples: shapes}
	plan.Free = []string{"n", "h", "w"}
	var problems []*operator.Problem
	for _, shape := range shapes {
		p, err := plan.Operator.Bind(plan.at(shape, true), operator.TypicalLimits())
		must.OK(t, err)
		problems = append(problems, p)
	}
	sp, err := problems[0].Space(t.Context())
	must.OK(t, err)
	var all []space.Configuration
	for id := int64(0); len(all) < 6; id++ {
		c := sp.At(id)
		for _, p := range problems {
			if !p.Admits(c) {
				t.Fatalf("%s serves not all", c)
			}
		}
		all = append(all, c)
	}
	return plan, problems, all
}

// The shortlist begins with the fastest configuration of each sample, followed by configurations that were nearly as
// fast at the most samples. The shortlist contains no configuration twice.
func TestShortlist(t *testing.T) {
	plan, problems, c := poolWith(t, []int64{1, 2, 16, 16}, []int64{4, 2, 32, 32}, []int64{9, 2, 64, 64})
	shape := func(i int) string { return key(plan.Samples[i], true) }
	f := &tuning{Plan: plan, tried: map[string][]tried{
		shape(0): {{c[0], 1}, {c[1], 1.01}, {c[2], 1.07}},
		shape(1): {{c[3], 1}, {c[2], 1.02}},
		shape(2): {{c[0], 1}, {c[4], 1.02}, {c[2], 1.04}},
	}}
	for most, want := range map[int][]int{9: {0, 3, 2, 1, 4}, 3: {0, 3, 2}} {
		got := f.shortlist(problems, most)
		if len(got) != len(want) {
			t.Fatalf("%d, want %v", len(got), want)
		}
		for i, at := range want {
			if got[i].Key() != c[at].Key() {
				t.Errorf("of %d, number %d is %s, want %s", most, i, got[i], c[at])
			}
		}
	}
}

// The kernels that kernelsOf makes of a configuration serve every shape for which the configuration is valid.
func TestKernelsOf(t *testing.T) {
	_, problems, all := poolWith(t, []int64{1, 2, 16, 16}, []int64{1, 2, 16, 17}, []int64{4, 2, 16, 18}, []int64{9, 2, 64, 64})
	for _, c := range all {
		kernels, err := kernelsOf(problems, c)
		must.OK(t, err)
		for _, p := range problems {
			n := 0
			for i := range kernels {
				if kernels[i].serves(p) {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%d of %d kernels of %s serve %s", n, len(kernels), c, p)
			}
		}
	}
}
