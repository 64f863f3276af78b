package tuner

import (
	"slices"
	"strings"
	"testing"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/operator"
	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/final"
	"autotune/tuner/strategy"
)

func never(int64) bool { return false }

// Jobs are sent to the device in the order in which they were begun, and the device never has more jobs at once than
// its share.
func TestReadyJobs(t *testing.T) {
	st := &stages{open: true, toDevice: make(chan job, 1)}
	for _, turn := range []int{3, 1, 2, 5, 4} {
		st.await(job{turn: turn})
	}
	var turns []int
	for {
		to, j := st.next(never)
		if to == nil {
			break
		}
		turns = append(turns, j.turn)
		st.sent()
	}
	if !slices.Equal(turns, []int{1, 2}) || st.underWay() != 5 {
		t.Errorf("turns %v, %d under way", turns, st.underWay())
	}
	st.open, st.onDevice = false, 0
	if to, _ := st.next(never); to != nil {
		t.Error("a device that is not open gets a job")
	}
}

func TestLooking(t *testing.T) {
	l := &looking{target: 1.05}
	if l.due(4, 5) || !l.due(5, 5) {
		t.Error("it asks after five outcomes")
	}
	l.ask(make([]strategy.Seen, 5), 10)
	if l.due(50, 5) {
		t.Error("it asks while it is told")
	}
	if o := l.answered(0.01, 10, true); o == nil || o.Chance != 0.01 || !o.AtFloor || o.Target != 1.05 {
		t.Errorf("outlook %+v", o)
	}
	l.ask(make([]strategy.Seen, 10), 10)
	if o := l.answered(0.01, 9, false); o != nil || !l.due(15, 5) {
		t.Errorf("refuted meanwhile, yet %+v", o)
	}
}

func TestAtRoofline(t *testing.T) {
	best := timed(32, 1, 1, 1)
	if atRoofline(nil, 1) || !atRoofline(&best, 1) || atRoofline(&best, 0.9) || atRoofline(&best, 0) {
		t.Error("1 ms is at a floor of 1 ms, not of 0.9 ms")
	}
}

// A result names the winner, and warns about checks that the winner has not passed.
func TestResultNames(t *testing.T) {
	f := final.NewField(0, nil)
	f.Enter(0, timed(32, 4, 4, 4))
	f.Enter(1, timed(64, 2, 2, 2))
	r := &Result{Record: Record{Ceilings: device.Ceilings{ReferenceMS: 9, Baselines: map[string]float64{"b": 2, "a": 1, "none": 0}}}}
	r.name(f, device.Properties{Compiles: true, Caveat: "slow"}, true)
	if r.Winner.Time.Median != 2 || r.Default.Time.Median != 4 || r.Ties != nil || r.ByStatus[trial.OK] != 2 {
		t.Errorf("winner %+v, default %+v, ties %v", r.Winner, r.Default, r.Ties)
	}
	if want := []Baseline{{Name: "default", TimeMS: 4}, {Name: "reference", TimeMS: 9}, {Name: "a", TimeMS: 1}, {Name: "b", TimeMS: 2}}; !slices.Equal(r.Baselines, want) {
		t.Errorf("baselines %v", r.Baselines)
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "before its winner was put through the gates") {
		t.Errorf("warnings %q", r.Warnings)
	}
	empty := &Result{}
	empty.name(final.NewField(-1, nil), device.Properties{}, true)
	if empty.Winner != nil || empty.Default != nil || len(empty.Warnings) > 0 {
		t.Errorf("%+v", empty)
	}
}

// nearestWinners lists the winners of the most similar problems first. A winner that is not valid in the searched space
// is replaced by the nearest valid configuration. The list of winners to start from contains no configuration twice.
func TestNearestWinners(t *testing.T) {
	p := threadsProblem(t)
	sp, err := p.Space(t.Context())
	must.OK(t, err)
	record := func(n, threads int64) Record {
		c := space.Configuration{Template: "plain", Values: space.Values{{Name: "threads", Value: expr.Int(threads)}}}
		return Record{Problem: operator.ProblemRecord{Text: "m", Shape: []int64{n}}, Winner: &trial.Trial{Configuration: c}}
	}
	ids, from := nearestWinners([]Record{record(4000, 64), record(1000, 128), record(2000, 128), record(64000, 32)}, record(1000, 0), sp)
	if !slices.Equal(ids, []int64{2, 1}) || len(from) != policy.warm {
		t.Errorf("configurations %v from %q", ids, from)
	}
	if id, ok := closest(sp, record(1, 999).Winner.Configuration); !ok || id != 0 {
		t.Errorf("an unknown value gives %d, %v; want the first", id, ok)
	}
	if _, ok := closest(sp, space.Configuration{Template: "other"}); ok {
		t.Error("another template has a nearest configuration")
	}
}

func TestAfterLikely(t *testing.T) {
	for _, c := range []struct{ likely, untuned, won, want []int64 }{
		{},
		{untuned: []int64{1, 2}, want: []int64{1, 2}},
		{untuned: []int64{1, 2}, won: []int64{5}, want: []int64{1, 5, 2}},
		{[]int64{7, 8, 9}, []int64{1, 2, 3, 4}, []int64{5, 6}, []int64{7, 1, 5, 6, 3, 8, 9, 2, 4}},
		{likely: []int64{7}, want: []int64{7}},
	} {
		if got := afterLikely(c.likely, c.untuned, c.won, func(id int64) bool { return id%2 == 0 }); !slices.Equal(got, c.want) {
			t.Errorf("%v, %v and %v give %v, want %v", c.likely, c.untuned, c.won, got, c.want)
		}
	}
}
