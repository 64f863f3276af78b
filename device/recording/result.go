package recording

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/operator"
	"autotune/space"
)

// result is one trial in the T4 file format; Extra holds the data that the format has no place for. Fields in which
// other tools store values of other types have the type any.
type result struct {
	Timestamp     json.RawMessage `json:"timestamp"`
	Configuration json.RawMessage `json:"configuration"` // tunables, and the template under "template"
	Times         times           `json:"times"`
	Invalidity    string          `json:"invalidity"`
	Correctness   any             `json:"correctness"` // 1 if verified, else 0
	Measurements  []measurement   `json:"measurements"`
	Objectives    []string        `json:"objectives"`
	Extra         extra           `json:"autotune"`
}

// times says how many milliseconds each step of a trial took.
type times struct {
	Compilation     float64   `json:"compilation_time"`
	KernelTuner     float64   `json:"compilation,omitempty"` // Kernel Tuner's name of the compilation time
	Framework       float64   `json:"framework"`
	SearchAlgorithm float64   `json:"search_algorithm"`
	Validation      float64   `json:"validation"`
	Runtimes        []float64 `json:"runtimes"` // one per launch, in the order taken
}

// extra holds the data that a replay needs and that the T4 file format does not have.
type extra struct {
	Status    trial.Status    `json:"status"`
	Message   string          `json:"message,omitempty"`
	Digest    string          `json:"digest,omitempty"` // the first digits of the kernel's
	Batch     int             `json:"batch,omitempty"`
	MeasureMS float64         `json:"measure_ms,omitempty"`
	Dropped   bool            `json:"dropped,omitempty"`
	Warnings  []trial.Warning `json:"warnings,omitempty"`
}

// invalidities maps the status of a trial to the invalidity by which the T4 file format names such a failure.
var invalidities = map[trial.Status]string{
	trial.OK:           "correct",
	trial.CompileError: "compile",
	trial.LaunchError:  "runtime",
	trial.Crashed:      "runtime",
	trial.WrongResult:  "correctness",
	trial.Timeout:      "timeout",
	trial.Pruned:       "constraints",
}

// objective names the quantity that searches minimise unless a file names another.
const objective = "time"

// digestLength is the number of hexadecimal digits of a kernel's digest that a recording stores. A digest contains
// digits for the kernel's code and as many digits for its launch, which are enough to notice an edit.
const digestLength = 2 * operator.CodeDigits

// newResult converts a trial to the form of the T4 file format. Samples and other measured numbers are rounded to six
// significant digits, i.e. a time of a millisecond to a nanosecond, which is finer than the GPU's event timer.
func newResult(t trial.Trial) (result, error) {
	configuration, err := json.Marshal(t.Flat())
	if err != nil {
		return result{}, err
	}
	timestamp, err := json.Marshal(t.At.UTC().Truncate(time.Millisecond))
	if err != nil {
		return result{}, err
	}
	samples := append([]float64{}, lists.Of(t.SamplesMS, round)...)
	r := result{
		Timestamp: timestamp, Configuration: configuration,
		Times:        times{Compilation: round(t.Phases.CompileMS), Validation: round(t.Phases.VerifyMS), Runtimes: samples},
		Invalidity:   invalidities[t.Status],
		Correctness:  0,
		Measurements: measurements(t.Outcome, samples),
		Objectives:   []string{objective},
		Extra: extra{
			Status: t.Status, Message: t.Message, Digest: t.KernelDigest[:min(len(t.KernelDigest), digestLength)], Batch: t.Time.Batch,
			MeasureMS: round(t.Phases.MeasureMS), Dropped: t.Dropped, Warnings: t.Warnings,
		},
	}
	if t.Status == trial.OK {
		r.Correctness = 1
	}
	return r, nil
}

// mostTunables limits the tunables of a trial, far above any kernel's, because looking up a value takes linear time.
const mostTunables = 64

func (r result) trial() (trial.Trial, error) {
	t := trial.Trial{KernelDigest: r.Extra.Digest, Outcome: trial.Outcome{
		Status: r.Extra.Status, Message: r.Extra.Message, Dropped: r.Extra.Dropped, Warnings: r.Extra.Warnings,
		Phases: trial.Phases{
			CompileMS: spent(r.Times.Compilation, r.Times.KernelTuner), VerifyMS: spent(r.Times.Validation), MeasureMS: spent(r.Extra.MeasureMS),
		},
	}}
	var flat space.Values
	if err := json.Unmarshal(r.Configuration, &flat); err != nil && r.Configuration != nil {
		return t, err
	}
	if len(flat) > mostTunables {
		return t, fmt.Errorf("configuration: it has %d tunables; %d are the most", len(flat), mostTunables)
	}
	t.Configuration = space.Unflatten(flat)
	if err := json.Unmarshal(orNull(r.Timestamp), &t.At); err != nil && r.Extra.Status != "" {
		return t, fmt.Errorf("timestamp: %w", err)
	}
	if len(r.Times.Runtimes) > 0 {
		t.SetSamples(r.Times.Runtimes, r.Extra.Batch)
	}
	if r.Extra.Status == "" {
		// A T4 file of another tool has no status, so the first status with the file's invalidity is used.
		if i := slices.IndexFunc(trial.Statuses, func(s trial.Status) bool { return invalidities[s] == r.Invalidity }); i >= 0 {
			t.Status = trial.Statuses[i]
		}
		// Tools other than autotune do not record how long measuring took.
		t.Phases.MeasureMS = max(t.Phases.MeasureMS, spent(r.Times.Runtimes...))
	}
	minimised := objective
	if len(r.Objectives) > 0 {
		minimised = r.Objectives[0]
	}
	if ms, ok := r.measured(minimised); ok || r.Extra.Status == "" {
		t.Time.Median = ms
	}
	for _, q := range quantities {
		if x, ok := r.measured(q.name); ok && trial.Finite(x) == x {
			q.set(&t.Outcome, x)
		}
	}
	return t, nil
}

func spent(list ...float64) float64 {
	sum := 0.0
	for _, ms := range list {
		if ms > 0 {
			sum += ms
		}
	}
	return sum
}

// largest is the bound below which a JSON number represents every integer exactly.
const largest = 1 << 53

func round(x float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64)
	if err != nil {
		return x
	}
	return rounded
}

// number is a float64 for which other tools may write a string such as "NaN".
type number float64

// UnmarshalJSON reads a number, and reads anything else as NaN.
func (n *number) UnmarshalJSON(data []byte) error {
	x, err := strconv.ParseFloat(strings.Trim(string(data), `"`), 64)
	if err != nil {
		x = math.NaN()
	}
	*n = number(x)
	return nil
}

type measurement struct {
	Name  string `json:"name"`
	Value number `json:"value"`
	Unit  string `json:"unit"`
}

// quantity is a measured property of a variant other than its time. The function field returns a pointer to the
// property, a float64, an int64 or an int; a property of 0 is not written.
type quantity struct {
	name, unit string
	field      func(*trial.Outcome) any
}

var quantities = []quantity{
	{"max_abs_error", "", func(o *trial.Outcome) any { return &o.MaxAbsError }},
	{"registers", "", func(o *trial.Outcome) any { return &o.Resources.Registers }},
	{"shared_bytes", "B", func(o *trial.Outcome) any { return &o.Resources.SharedBytes }},
	{"local_bytes", "B", func(o *trial.Outcome) any { return &o.Resources.LocalBytes }},
	{"occupancy", "", func(o *trial.Outcome) any { return &o.Resources.Occupancy }},
	{"clock_mhz", "MHz", func(o *trial.Outcome) any { return &o.ClockMHz }},
}

func (q quantity) value(o *trial.Outcome) reflect.Value { return reflect.ValueOf(q.field(o)).Elem() }

// set stores x in the outcome, except in an integer field if x is NaN or too large to be an exact integer.
func (q quantity) set(o *trial.Outcome, x float64) {
	if v := q.value(o); v.CanFloat() || math.Abs(x) < largest {
		v.Set(reflect.ValueOf(x).Convert(v.Type()))
	}
}

func measurements(o trial.Outcome, samples []float64) []measurement {
	list := []measurement{}
	if o.Status == trial.OK {
		list = append(list, measurement{objective, number(round(trial.Median(samples))), "ms"})
	}
	for _, q := range quantities {
		v := q.value(&o)
		x := v.Convert(reflect.TypeFor[float64]()).Float()
		if v.CanFloat() {
			x = round(x)
		}
		if x != 0 {
			list = append(list, measurement{q.name, number(x), q.unit})
		}
	}
	return list
}

func (r result) measured(name string) (float64, bool) {
	for _, m := range r.Measurements {
		if m.Name == name {
			return float64(m.Value), true
		}
	}
	return 0, false
}
