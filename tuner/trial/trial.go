// Package trial holds the record of one variant evaluated: what was run, how
// it ended, what it took and where that is known from. A Trial is plain data:
// devices produce it, the store keeps it, strategies learn from it and reports
// show it.
package trial

import (
	"strings"
	"time"

	"autotune/tuner/operator"
)

// Status says how an evaluation ended.
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

// Trial is the record of one variant evaluated.
type Trial struct {
	Template      string            `json:"template"`
	Configuration map[string]any    `json:"configuration"`
	Macros        map[string]string `json:"macros,omitempty"`
	Launch        operator.Launch   `json:"launch"`
	KernelDigest  string            `json:"kernel_digest"` // of source, includes, macros and entry
	Status        Status            `json:"status"`
	Message       string            `json:"message,omitempty"` // why, when the status is not OK
	Time          Timing            `json:"time_ms"`
	SamplesMS     []float64         `json:"samples_ms,omitempty"` // each sample, in the order taken
	MaxAbsError   float64           `json:"max_abs_error"`
	Resources     Resources         `json:"resources"`
	Phases        Phases            `json:"phases"`
	ClockMHz      int               `json:"clock_mhz,omitempty"` // multiprocessor clock seen while timing, 0 if unknown
	Warnings      []string          `json:"warnings,omitempty"`
	Dropped       bool              `json:"dropped,omitempty"` // racing stopped its samples early
	At            time.Time         `json:"at"`                // when its evaluation ended
}

// Reason is the message's first line, which says the most in the least.
func (t Trial) Reason() string {
	line, _, _ := strings.Cut(strings.TrimSpace(t.Message), "\n")
	return line
}

// Timing summarises the samples of one variant, in milliseconds.
type Timing struct {
	Median    float64    `json:"median"`
	CI95      [2]float64 `json:"ci95"` // of the median, by order statistics
	Quartiles [2]float64 `json:"quartiles"`
	Min       float64    `json:"min"`
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

// Phases says where the evaluation's wall time went, in milliseconds.
type Phases struct {
	CompileMS float64 `json:"compile_ms"`
	VerifyMS  float64 `json:"verify_ms"`
	MeasureMS float64 `json:"measure_ms"`
}
