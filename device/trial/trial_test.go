package trial

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"autotune/internal/test/must"
	"autotune/operator"
	"autotune/space"
	"autotune/space/expr"
)

func sampled(o Outcome, samples ...float64) Outcome {
	o.SetSamples(samples, 2)
	return o
}

func TestTrialJSON(t *testing.T) {
	c := space.Configuration{Template: "direct", Values: space.Values{{Name: "vec", Value: expr.Int(4)}, {Name: "share", Value: expr.Float(1)}}}
	trial := New(c, operator.Kernel{Launches: operator.Launches{{Entry: "scale_direct"}}}).With(sampled(Outcome{Status: OK, Measured: Measured{MaxAbsError: 0.5}, ClockMHz: 1980}, 3, 1, 2))
	text, err := json.Marshal(trial)
	must.OK(t, err)
	// A trial's JSON object contains the fields of its embedded structs directly, as the store has always kept them.
	var fields map[string]json.RawMessage
	must.OK(t, json.Unmarshal(text, &fields))
	for name, want := range map[string]string{
		"template": `"direct"`, "configuration": `{"vec":4,"share":1.0}`, "status": `"ok"`, "samples_ms": "[3,1,2]", "max_abs_error": "0.5", "clock_mhz": "1980",
	} {
		if got := string(fields[name]); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	var back Trial
	must.OK(t, json.Unmarshal(text, &back))
	back.Macros, trial.Macros = nil, nil // an empty map is left out
	if !reflect.DeepEqual(back, trial) {
		t.Errorf("got %+v, want %+v", back.Outcome, trial.Outcome)
	}
}

func TestWith(t *testing.T) {
	start := Trial{Outcome: Outcome{Phases: Phases{CompileMS: 80}}}
	if got := start.With(Outcome{Status: OK}).Phases.CompileMS; got != 80 {
		t.Errorf("compiling took %v ms, want the trial's own 80", got)
	}
	if got := start.With(Outcome{Status: OK, Phases: Phases{CompileMS: 7}}).Phases.CompileMS; got != 7 {
		t.Errorf("compiling took %v ms, want the recorded 7", got)
	}
	wrong := start.With(sampled(Outcome{Status: WrongResult, Measured: Measured{MaxAbsError: math.NaN()}}, 1))
	if wrong.SamplesMS != nil || wrong.Time != (Timing{}) || wrong.MaxAbsError != math.MaxFloat64 {
		t.Errorf("a failure has %+v", wrong.Outcome)
	}
}

func TestJoin(t *testing.T) {
	first := sampled(Outcome{Status: OK, Measured: Measured{MaxAbsError: 2}}, 3, 1)
	o := first
	o.Join(sampled(Outcome{Status: OK, Measured: Measured{MaxAbsError: 1}, ClockMHz: 1500}, 2))
	if !reflect.DeepEqual(o.SamplesMS, []float64{3, 1, 2}) || o.Time.Median != 2 || o.MaxAbsError != 2 || o.ClockMHz != 1500 {
		t.Errorf("joined %+v", o)
	}
	o.Join(Outcome{Status: Crashed, Message: "it faulted"})
	if o.Status != Crashed || o.Message != "it faulted" || o.SamplesMS != nil || o.Time != (Timing{}) {
		t.Errorf("after a failure %+v", o)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{4}, 4}, {[]float64{3, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := Median(c.values); got != c.want {
			t.Errorf("of %v: %v, want %v", c.values, got, c.want)
		}
	}
}

func TestSummarise(t *testing.T) {
	for _, test := range []struct {
		name    string
		samples []float64
		want    Timing
	}{
		{"none", nil, Timing{}},
		{"one", []float64{2}, Timing{Median: 2, CI95: [2]float64{2, 2}, Quartiles: [2]float64{2, 2}, Min: 2, Samples: 1}},
		{"five are bounded by their range", []float64{5, 1, 4, 2, 3}, Timing{Median: 3, CI95: [2]float64{1, 5}, Quartiles: [2]float64{2, 4}, Min: 1, Samples: 5}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := Summarise(test.samples, 0)
			if got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// The expected ranks of the median's confidence interval come from a standard table: Hahn and Meeker, table A.15.
func TestMedianRanks(t *testing.T) {
	for _, test := range []struct{ n, low, high int }{
		{6, 0, 5}, {10, 1, 8}, {20, 5, 14}, {30, 9, 20}, {100, 39, 60},
	} {
		low, high := medianRanks(test.n)
		if low != test.low || high != test.high {
			t.Errorf("%d samples: ranks %d and %d, want %d and %d", test.n, low, high, test.low, test.high)
		}
	}
}

// turnsOf simulates a variant that takes about ms milliseconds and is timed in turns, and returns its medians on both
// sides of each turn.
func turnsOf(r *rand.Rand, n int, ms, drift, noise float64) (first, second []float64) {
	for range n {
		level := ms * math.Exp(drift*r.NormFloat64())
		first = append(first, level*math.Exp(noise*r.NormFloat64()))
		second = append(second, level*math.Exp(noise*r.NormFloat64()))
	}
	return first, second
}

// An unchanged variant is reported as slower in at most one run of 1000, on quiet machines, on noisy ones and on
// machines that drift. A clear change of a variant's time is always reported.
func TestNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name         string
		drift, noise float64
		slower       float64 // a change that must be seen
	}{
		{"quiet", 0, 0.0005, 1.01},
		{"noisy", 0, 0.01, 1.15},
		{"drifts", 0.01, 0.002, 1.15},
	} {
		const runs = 6000
		for _, recorded := range []int{0, 3, 6} {
			alarms, seen := 0, 0
			for range runs {
				was, _ := turnsOf(r, max(1, recorded), 2, c.drift, c.noise)
				before := Median(was)
				first, second := turnsOf(r, 6, 2, c.drift, c.noise)
				now, noise := Noise(first, second, recorded)
				if now > before*(1+noise) {
					alarms++
				}
				if now*c.slower > before*(1+noise) {
					seen++
				}
			}
			if alarms > runs/500 {
				t.Errorf("%s, %d turns recorded: %d false alarms in %d runs", c.name, recorded, alarms, runs)
			}
			if recorded > 0 && seen < runs*9/10 {
				t.Errorf("%s, %d turns recorded: %.3gx seen in %d of %d runs", c.name, recorded, c.slower, seen, runs)
			}
		}
	}
}

func TestNoiseBounds(t *testing.T) {
	for _, c := range []struct {
		name          string
		first, second []float64
		now, least    float64
	}{
		{"no noise at all", []float64{2, 2, 2}, []float64{2, 2, 2}, 2, Resolution},
		{"one turn", []float64{1.1}, []float64{1}, math.Sqrt(1.1), 0.1},
		{"the sides differ", []float64{1.1, 1.1}, []float64{1, 1}, math.Sqrt(1.1), 0.1},
	} {
		now, noise := Noise(c.first, c.second, 1)
		if math.Abs(now-c.now) > 1e-9 || math.Abs(noise-c.least) > 1e-9 {
			t.Errorf("%s: %v ms, noise %v; want %v ms, %v", c.name, now, noise, c.now, c.least)
		}
	}
}
