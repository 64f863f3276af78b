// Package trial holds the record of one evaluated variant: what was run, how the evaluation ended, and what it
// measured. A device answers with an Outcome. The Outcome together with its configuration is a Trial, which the store
// keeps, a recording contains, strategies learn from and reports show.
//
// A new quantity that devices measure becomes a field of Measured.
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

// A Status says how an evaluation ended. Only a trial with status OK has a time.
const (
	OK           Status = "ok"
	CompileError Status = "compile_error" // the compiler refused it or took too long
	LaunchError  Status = "launch_error"  // the driver refused the launch
	WrongResult  Status = "wrong_result"  // it ran, and differs from the reference
	Timeout      Status = "timeout"       // the kernel did not come back in time
	Crashed      Status = "crashed"       // the kernel faulted or its worker died
	Pruned       Status = "pruned"        // never run, because the device lacks the resources
)

// Statuses lists every status in the order of reports.
var Statuses = []Status{OK, CompileError, LaunchError, WrongResult, Timeout, Crashed, Pruned}

type Trial struct {
	space.Configuration
	Macros       map[string]string `json:"macros,omitempty"`
	Launches     operator.Launches `json:"launch"`
	KernelDigest string            `json:"kernel_digest"` // of everything that the compiler reads
	Outcome
	At  time.Time `json:"at"` // when the evaluation ended
	Log string    `json:"-"`  // the compiler's log, known only while the search runs
	// FinalRounds is the number of rounds of the finals that timed the variant, and 0 if it was in no finals. If a
	// variant was in the finals, all its samples come from rounds of the finals.
	FinalRounds int `json:"final_rounds,omitempty"`
}

func New(c space.Configuration, k operator.Kernel) Trial {
	macros := make(map[string]string, len(k.Macros))
	for _, m := range k.Macros {
		macros[m.Name] = m.Value
	}
	return Trial{Configuration: c, Macros: macros, Launches: k.Launches, KernelDigest: k.Digest()}
}

// With returns the trial with the data of a device's outcome added. With takes the compile time from the outcome if a
// recorded device answered, and otherwise keeps the trial's own compile time. An infinite MaxAbsError is replaced by
// the largest number that JSON can hold.
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

// Outcome is a device's answer about one variant.
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
	Notice   string    `json:"-"`                 // about the whole search, reported once
	Worker   string    `json:"worker,omitempty"`  // the worker that evaluated the variant, if there are several
	// Digest contains the first digits of the digest of the kernel that ran; it is "" unless the kernel was edited
	// after the recording and so differs from the trial's kernel.
	Digest string `json:"-"`
}

// Measured holds what was measured of a variant besides its time. Best-config documents contain Measured unchanged.
type Measured struct {
	MaxAbsError float64   `json:"max_abs_error"`
	Resources   Resources `json:"resources"`
}

func (o Outcome) Reason() string {
	line, _, _ := strings.Cut(strings.TrimSpace(o.Message), "\n")
	return line
}

// SetSamples stores the samples, in milliseconds per launch and in the order they were taken, with their summary. Each
// sample is the mean time of `batch` launches.
func (o *Outcome) SetSamples(samples []float64, batch int) {
	o.SamplesMS, o.Time = samples, Summarise(samples, batch)
}

// Fail turns the outcome into that of a variant that failed later, and removes its times.
func (o *Outcome) Fail(status Status, message string) {
	o.Status, o.Message = status, message
	o.SetSamples(nil, 0)
}

// Join adds the outcome of evaluating the same variant again; if that is a failure, so is the joined outcome.
func (o *Outcome) Join(again Outcome) {
	if again.Status != OK {
		o.Fail(again.Status, again.Message)
		return
	}
	o.SetSamples(append(o.SamplesMS, again.SamplesMS...), again.Time.Batch)
	o.MaxAbsError = max(o.MaxAbsError, Finite(again.MaxAbsError))
	o.Worker = again.Worker
	o.ClockMHz, o.Warnings = again.ClockMHz, merge(o.Warnings, again.Warnings)
}

// Finite replaces an error that is infinite or NaN by the largest finite number, because JSON has neither.
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
	Batch     int        `json:"batch,omitempty"` // launches per sample, if more than one
}

// Resources are the registers, memory and occupancy of a compiled variant on the device.
type Resources struct {
	Registers   int     `json:"registers,omitempty"` // per thread
	SharedBytes int64   `json:"shared_bytes,omitempty"`
	LocalBytes  int64   `json:"local_bytes,omitempty"` // per thread: spills and stack
	Occupancy   float64 `json:"occupancy,omitempty"`   // resident threads over the multiprocessor's maximum
}

// Beside combines the resources of two launches of a variant: for each resource the larger use, and the lower
// occupancy.
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

// Turned is a trial that was timed in turns with another trial of the same problem.
type Turned struct {
	Trial
	Ratio float64    // of its time to the other's: the geometric mean over turns; 0 without a time
	CI95  [2]float64 // of the ratio; zero if there was only one turn
}
