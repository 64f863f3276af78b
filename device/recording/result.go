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

// result is one trial in T4's form; what T4 has no place for is in Extra. Some
// fields hold anything, because other tools write them otherwise.
type result struct {
	Timestamp     json.RawMessage `json:"timestamp"`
	Configuration json.RawMessage `json:"configuration"` // tunables, and the template under "template"
	Times         times           `json:"times"`
	Invalidity    invalidity      `json:"invalidity"`
	Correctness   any             `json:"correctness"` // 1 if verified, else 0
	Measurements  []measurement   `json:"measurements"`
	Objectives    []string        `json:"objectives"`
	Extra         extra           `json:"autotune"`
}

// times says where a trial's time went, in milliseconds.
type times struct {
	Compilation     float64   `json:"compilation_time"`
	KernelTuner     float64   `json:"compilation,omitempty"` // what Kernel Tuner calls it
	Framework       float64   `json:"framework"`
	SearchAlgorithm float64   `json:"search_algorithm"`
	Validation      float64   `json:"validation"`
	Runtimes        []float64 `json:"runtimes"` // a launch each, in the order taken
}

// extra is what a replay needs and T4 does not have.
type extra struct {
	Status    trial.Status    `json:"status"`
	Message   string          `json:"message,omitempty"`
	Digest    string          `json:"digest,omitempty"` // the first digits of the kernel's
	Batch     int             `json:"batch,omitempty"`
	MeasureMS float64         `json:"measure_ms,omitempty"`
	Dropped   bool            `json:"dropped,omitempty"`
	Warnings  []trial.Warning `json:"warnings,omitempty"`
}

// invalidity is T4's word for how a trial ended.
type invalidity string

var invalidities = map[trial.Status]invalidity{
	trial.OK:           "correct",
	trial.CompileError: "compile",
	trial.LaunchError:  "runtime",
	trial.Crashed:      "runtime",
	trial.WrongResult:  "correctness",
	trial.Timeout:      "timeout",
	trial.Pruned:       "constraints",
}

// objective is what searches minimise, unless a file says otherwise.
const objective = "time"

// digestLength is how many hexadecimal digits of a digest are kept: those of the kernel's code and
// as many of its launch are enough to notice an edit.
const digestLength = 2 * operator.CodeDigits

// newResult writes down one trial. Samples and other measured numbers are kept to six significant digits: a
// nanosecond of a millisecond, finer than the GPU's event timer.
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

// mostTunables is far above what any kernel has. Configurations are searched for their values one after another.
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
		// The first status that the invalidity alone stands for.
		if i := slices.IndexFunc(trial.Statuses, func(s trial.Status) bool { return invalidities[s] == r.Invalidity }); i >= 0 {
			t.Status = trial.Statuses[i]
		}
		// Other tools do not tell what measuring took.
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

// spent adds up times. Some may be missing.
func spent(list ...float64) float64 {
	sum := 0.0
	for _, ms := range list {
		if ms > 0 {
			sum += ms
		}
	}
	return sum
}

// largest is above all integers that a number of JSON holds for certain.
const largest = 1 << 53

func round(x float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64)
	if err != nil {
		return x
	}
	return rounded
}

// number is a float64 in whose place other tools may write a string, as "NaN".
type number float64

// UnmarshalJSON takes anything else in place of a number for NaN.
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

// quantity is something that is measured of a variant besides its time. Its field is a pointer to a float64, an int64
// or an int. If zero is nil, a value of zero is unknown; otherwise zero reports whether it was measured.
type quantity struct {
	name, unit string
	field      func(*trial.Outcome) any
	zero       func(*trial.Outcome) bool
}

var quantities = []quantity{
	{"max_abs_error", "", func(o *trial.Outcome) any { return &o.MaxAbsError }, compared},
	{"registers", "", func(o *trial.Outcome) any { return &o.Resources.Registers }, nil},
	{"shared_bytes", "B", func(o *trial.Outcome) any { return &o.Resources.SharedBytes }, compiled},
	{"local_bytes", "B", func(o *trial.Outcome) any { return &o.Resources.LocalBytes }, compiled},
	{"occupancy", "", func(o *trial.Outcome) any { return &o.Resources.Occupancy }, nil},
	{"clock_mhz", "MHz", func(o *trial.Outcome) any { return &o.ClockMHz }, nil},
	{"energy_mj", "mJ", func(o *trial.Outcome) any { return &o.EnergyMJ }, nil},
}

func compared(o *trial.Outcome) bool                    { return o.Status == trial.OK }
func compiled(o *trial.Outcome) bool                    { return o.Resources.Registers > 0 }
func (q quantity) value(o *trial.Outcome) reflect.Value { return reflect.ValueOf(q.field(o)).Elem() }

func (q quantity) get(o *trial.Outcome) float64 {
	return q.value(o).Convert(reflect.TypeFor[float64]()).Float()
}

// set leaves a count as it is that would be NaN, or so large that numbers no longer tell it from the next one.
func (q quantity) set(o *trial.Outcome, x float64) {
	if v := q.value(o); v.CanFloat() || math.Abs(x) < largest {
		v.Set(reflect.ValueOf(x).Convert(v.Type()))
	}
}

// Quantities are the names of what is measured of a variant besides its time.
func Quantities() []string {
	return lists.Of(quantities, func(q quantity) string { return q.name })
}

// Measured is the value of a quantity; false if it is not known.
func Measured(o trial.Outcome, name string) (float64, bool) {
	q, found := lists.First(quantities, func(q quantity) bool { return q.name == name })
	if !found {
		return 0, false
	}
	x := q.get(&o)
	return x, x != 0 || q.zero != nil && q.zero(&o)
}

func measurements(o trial.Outcome, samples []float64) []measurement {
	list := []measurement{}
	if o.Status == trial.OK {
		list = append(list, measurement{objective, number(round(trial.Median(samples))), "ms"})
	}
	for _, q := range quantities {
		x := q.get(&o)
		if q.value(&o).CanFloat() {
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
