package replay

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"autotune/tuner/trial"
)

// Result is one trial in T4's form; what T4 has no place for is in Extra.
type Result struct {
	Timestamp     time.Time      `json:"timestamp"`
	Configuration map[string]any `json:"configuration"` // tunables, and the template under "template"
	Times         Times          `json:"times"`
	Invalidity    Invalidity     `json:"invalidity"`
	Correctness   float64        `json:"correctness"` // 1 if verified, else 0
	Measurements  []Measurement  `json:"measurements"`
	Objectives    []string       `json:"objectives"`
	Extra         Extra          `json:"autotune"`
}

// Times says where a trial's time went, in milliseconds.
type Times struct {
	Compilation     float64   `json:"compilation_time"`
	Framework       float64   `json:"framework"`
	SearchAlgorithm float64   `json:"search_algorithm"`
	Validation      float64   `json:"validation"`
	Runtimes        []float64 `json:"runtimes"` // a launch each, in the order taken
}

// Measurement is one measured quantity.
type Measurement struct {
	Name  string `json:"name"`
	Value Number `json:"value"`
	Unit  string `json:"unit"`
}

// Extra is what a replay needs and T4 does not have.
type Extra struct {
	Status    trial.Status `json:"status"`
	Message   string       `json:"message,omitempty"`
	Digest    string       `json:"digest,omitempty"` // the first digits of the kernel's
	Batch     int          `json:"batch,omitempty"`
	MeasureMS float64      `json:"measure_ms,omitempty"`
	Dropped   bool         `json:"dropped,omitempty"`
	Warnings  []string     `json:"warnings,omitempty"`
}

// Invalidity is T4's word for how a trial ended.
type Invalidity string

// invalidities translates our statuses, of which T4 has fewer.
var invalidities = map[trial.Status]Invalidity{
	trial.OK:           "correct",
	trial.CompileError: "compile",
	trial.LaunchError:  "runtime",
	trial.Crashed:      "runtime",
	trial.WrongResult:  "correctness",
	trial.Timeout:      "timeout",
	trial.Pruned:       "constraints",
}

// The names of the measurements, and the configuration's key of the template.
const (
	templateKey  = "template"
	objective    = "time"
	maxAbsError  = "max_abs_error"
	registers    = "registers"
	sharedBytes  = "shared_bytes"
	localBytes   = "local_bytes"
	occupancy    = "occupancy"
	clockMHz     = "clock_mhz"
	digestLength = 16 // 64 bits tell one edit of a kernel from another
)

// measure lists what was measured; a quantity that is zero is left out.
func measure(t trial.Trial, samples []float64) []Measurement {
	list := []Measurement{}
	add := func(name string, value float64, unit string) {
		if value != 0 {
			list = append(list, Measurement{name, Number(round(value)), unit})
		}
	}
	if t.Status == trial.OK {
		add(objective, trial.Summarise(samples, t.Time.Batch).Median, "ms")
	}
	add(maxAbsError, t.MaxAbsError, "")
	add(registers, float64(t.Resources.Registers), "")
	add(sharedBytes, float64(t.Resources.SharedBytes), "B")
	add(localBytes, float64(t.Resources.LocalBytes), "B")
	add(occupancy, t.Resources.Occupancy, "")
	add(clockMHz, float64(t.ClockMHz), "MHz")
	return list
}

// measured is the value of a measurement, 0 if it was not made.
func (r Result) measured(name string) float64 {
	for _, m := range r.Measurements {
		if m.Name == name {
			return float64(m.Value)
		}
	}
	return 0
}

// withTemplate is a configuration in T4's form, where the template is one of its
// parameters.
func withTemplate(tunables map[string]any, template string) map[string]any {
	m := make(map[string]any, len(tunables)+1)
	maps.Copy(m, tunables)
	m[templateKey] = template
	return m
}

// key writes a configuration so that two equal ones give the same text whatever
// the order of their tunables and however JSON wrote their numbers.
func key(configuration map[string]any) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(configuration)) {
		fmt.Fprintf(&b, "%s=", name)
		switch v := configuration[name].(type) {
		case float64:
			b.WriteString(strconv.FormatFloat(v, 'f', -1, 64))
		case string:
			b.WriteString(strconv.Quote(v)) // "1" is not 1
		default:
			fmt.Fprint(&b, v)
		}
		b.WriteByte('|')
	}
	return b.String()
}

// round keeps six significant digits.
func round(x float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64)
	if err != nil {
		return x
	}
	return rounded
}

// Number is a float64 whose JSON can also be "NaN", "Infinity" or "-Infinity",
// which a wrong kernel's error often is.
type Number float64

// MarshalJSON writes what JSON has no number for as a string.
func (n Number) MarshalJSON() ([]byte, error) {
	switch x := float64(n); {
	case math.IsNaN(x):
		return []byte(`"NaN"`), nil
	case math.IsInf(x, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(x, -1):
		return []byte(`"-Infinity"`), nil
	default:
		return json.Marshal(x)
	}
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *Number) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case `"NaN"`:
		*n = Number(math.NaN())
	case `"Infinity"`:
		*n = Number(math.Inf(1))
	case `"-Infinity"`:
		*n = Number(math.Inf(-1))
	default:
		return json.Unmarshal(data, (*float64)(n))
	}
	return nil
}
