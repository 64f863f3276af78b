// Package trial holds the record of one variant evaluated: what was run, how it ended, what it took and where that is
// known from. A device answers with an Outcome; together with the configuration that it is of, it is a Trial, which
// the store keeps, a recording writes, strategies learn from and reports show.
//
// A quantity that devices newly measure is a field of Measured.
package trial

import (
	"cmp"
	"math"
	"strings"
	"time"

	"autotune/operator"
	"autotune/space"
)

type Status string

// The ways an evaluation ends. Only OK has a time.
const (
	OK           Status = "ok"
	CompileError Status = "compile_error" // the compiler refused it or took too long
	LaunchError  Status = "launch_error"  // the driver refused the launch
	WrongResult  Status = "wrong_result"  // it ran, and differs from the reference
	Timeout      Status = "timeout"       // the kernel did not come back in time
	Crashed      Status = "crashed"       // the kernel faulted or its worker died
	Pruned       Status = "pruned"        // never run: its resources rule it out
)

// Statuses lists every status, in the order reports show them.
var Statuses = []Status{OK, CompileError, LaunchError, WrongResult, Timeout, Crashed, Pruned}

type Trial struct {
	space.Configuration
	Macros       map[string]string `json:"macros,omitempty"`
	Launches     operator.Launches `json:"launch"`
	KernelDigest string            `json:"kernel_digest"` // of all that the compiler sees
	Outcome
	At  time.Time `json:"at"` // when its evaluation ended
	Log string    `json:"-"`  // the compiler's words, known while the search runs
	// FinalRounds is how often the finals timed it; its samples are from there then. 0: it was in no finals.
	FinalRounds int `json:"final_rounds,omitempty"`
}

func New(c space.Configuration, k operator.Kernel) Trial {
	macros := make(map[string]string, len(k.Macros))
	for _, m := range k.Macros {
		macros[m.Name] = m.Value
	}
	return Trial{Configuration: c, Macros: macros, Launches: k.Launches, KernelDigest: k.Digest()}
}

// With is the trial with what the device said. A device that answers from a
// recording knows what compiling took; otherwise the trial's own time counts. An
// error beyond all numbers becomes the largest number, the most that JSON holds.
func (t Trial) With(o Outcome) Trial {
	o.Phases.CompileMS = cmp.Or(o.Phases.CompileMS, t.Phases.CompileMS)
	if o.Status != OK {
		o.SetSamples(nil, 0)
	}
	o.MaxAbsError = Finite(o.MaxAbsError)
	if o.Digest != "" {
		t.KernelDigest = o.Digest
	}
	t.Outcome = o
	return t
}

// Outcome is what a device says of one variant.
type Outcome struct {
	Status    Status    `json:"status"`
	Message   string    `json:"message,omitempty"` // why, when the status is not OK
	Time      Timing    `json:"time_ms"`           // summary of the samples
	SamplesMS []float64 `json:"samples_ms,omitempty"`
	Measured
	Phases   Phases    `json:"phases"`
	ClockMHz int       `json:"clock_mhz,omitempty"` // multiprocessor clock seen while timing, 0 if unknown
	Warnings []Warning `json:"warnings,omitempty"`
	Dropped  bool      `json:"dropped,omitempty"` // racing stopped its samples early
	Notice   string    `json:"-"`                 // about the whole search, told once
	Worker   string    `json:"worker,omitempty"`  // evaluated it, of several
	// Digest is of the kernel that ran, where that is another than the trial's: of
	// the one that was edited since a recording, its first digits.
	Digest string `json:"-"`
}

// Measured is what was measured of a variant besides its time. Best-config documents hold it as it is.
type Measured struct {
	MaxAbsError float64   `json:"max_abs_error"`
	Resources   Resources `json:"resources"`
	EnergyMJ    float64   `json:"energy_mj,omitempty"` // of a launch, in millijoules, 0 if unknown
}

func (o Outcome) Reason() string {
	line, _, _ := strings.Cut(strings.TrimSpace(o.Message), "\n")
	return line
}

// SetSamples sets the samples, in milliseconds a launch and in the order taken,
// and their summary. batch is how many launches a sample is the mean of.
func (o *Outcome) SetSamples(samples []float64, batch int) {
	o.SamplesMS, o.Time = samples, Summarise(samples, batch)
}

// Fail makes it the outcome of a variant that failed later, and drops its times.
func (o *Outcome) Fail(status Status, message string) {
	o.Status, o.Message = status, message
	o.SetSamples(nil, 0)
}

// Join adds what a device says of the same variant another time. One that fails now has failed.
func (o *Outcome) Join(again Outcome) {
	if again.Status != OK {
		o.Fail(again.Status, again.Message)
		return
	}
	o.SetSamples(append(o.SamplesMS, again.SamplesMS...), again.Time.Batch)
	o.MaxAbsError = max(o.MaxAbsError, Finite(again.MaxAbsError))
	o.Worker = again.Worker
	o.ClockMHz, o.Warnings = again.ClockMHz, merge(o.Warnings, again.Warnings)
	if again.EnergyMJ > 0 {
		o.EnergyMJ = again.EnergyMJ
	}
}

// Finite replaces an error without bound (a wrong result may hold NaN) by the
// largest number, because JSON has no other.
func Finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return math.MaxFloat64
	}
	return x
}

type Timing struct {
	Median    float64    `json:"median"`
	CI95      [2]float64 `json:"ci95"` // of the median, by order statistics
	Quartiles [2]float64 `json:"quartiles,omitzero"`
	Min       float64    `json:"min,omitzero"`
	Samples   int        `json:"samples"`
	Batch     int        `json:"batch,omitempty"` // launches a sample, when more than one
}

// Resources are what the compiled variant takes on the device.
type Resources struct {
	Registers   int     `json:"registers,omitempty"` // per thread
	SharedBytes int64   `json:"shared_bytes,omitempty"`
	LocalBytes  int64   `json:"local_bytes,omitempty"` // per thread: spills and stack
	Occupancy   float64 `json:"occupancy,omitempty"`   // resident threads over the multiprocessor's maximum
}

// Beside is what two launches of one variant take: the more of the two, and the lower occupancy.
func (r Resources) Beside(other Resources) Resources {
	return Resources{
		Registers: max(r.Registers, other.Registers), SharedBytes: max(r.SharedBytes, other.SharedBytes),
		LocalBytes: max(r.LocalBytes, other.LocalBytes), Occupancy: min(r.Occupancy, other.Occupancy),
	}
}

type Phases struct {
	CompileMS float64 `json:"compile_ms"`
	VerifyMS  float64 `json:"verify_ms"`
	MeasureMS float64 `json:"measure_ms"`
}

// Turned is a trial that took turns with another one of its problem.
type Turned struct {
	Trial
	Ratio float64    // of its time over the other's: the geometric mean over turns; 0: it has no time
	CI95  [2]float64 // of the ratio; zero: one turn does not tell
}

// Bests are the fastest right trials of each template, by its name.
func Bests(trials []Trial) map[string]Trial {
	best := map[string]Trial{}
	for _, t := range trials {
		if known, has := best[t.Template]; t.Status == OK && (!has || t.Time.Median < known.Time.Median) {
			best[t.Template] = t
		}
	}
	return best
}
