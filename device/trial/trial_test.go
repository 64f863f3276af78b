package trial

import (
	"encoding/json"
	"math"
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
	// One level, as the store has kept it from the beginning.
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
	first := sampled(Outcome{Status: OK, Measured: Measured{MaxAbsError: 2, EnergyMJ: 5}}, 3, 1)
	o := first
	o.Join(sampled(Outcome{Status: OK, Measured: Measured{MaxAbsError: 1}, ClockMHz: 1500}, 2))
	if !reflect.DeepEqual(o.SamplesMS, []float64{3, 1, 2}) || o.Time.Median != 2 || o.MaxAbsError != 2 || o.ClockMHz != 1500 || o.EnergyMJ != 5 {
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
