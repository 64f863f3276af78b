// Package replay is a device that answers from a recording of an earlier search
// instead of running anything.
//
// A recording is one search on one machine written down trial by trial: what
// was tried, how it ended and every sample that was taken. The file is T4
// results JSON, which other autotuning tools read, with what only we need in
// keys of our own, and is usually compressed; docs/recordings.md describes it.
//
// Recording a search: make a Result of each trial with NewResult, put them under
// a Metadata and Write them. Replaying one: Load it, Open it, and use it as any
// device. Find and FindRequest choose among the recordings that are
// shipped in the binary.
//
// A replay is exact and never pretends. It answers for the recorded problem
// only, its Info names the recorded GPU and the day, a configuration that was
// never recorded is pruned rather than estimated, and a kernel whose source has
// changed since brings a warning along with its recorded times.
package replay

import (
	"fmt"
	"strings"
	"time"

	"autotune/space"
	"autotune/tuner/device"
	"autotune/tuner/trial"
)

const (
	// SchemaVersion is the version of T4 that recordings are written in.
	SchemaVersion = "1.0.0"
	// Format names our additions to T4 and their version.
	Format = "autotune/recording/1"
	// TimeUnit is the unit of every time in a recording.
	TimeUnit = "milliseconds"
)

// Recording is a search written down.
type Recording struct {
	File     string // that it was loaded from; not stored
	Metadata Metadata
	Results  []Result // in the order of the search
}

// Metadata says what was searched, where and how. Only Tool, Valid and the
// fields that the recorded machine did not know may be empty.
type Metadata struct {
	TimeUnit   string            `json:"timeunit"` // TimeUnit
	Format     string            `json:"format"`   // Format
	Tool       string            `json:"tool,omitempty"`
	Operator   string            `json:"operator"`
	Problem    string            `json:"problem"` // canonical: a replay answers for exactly this
	Shape      []int64           `json:"shape"`
	Parameters map[string]string `json:"parameters"`
	Math       string            `json:"math"`
	Device     device.Info       `json:"device"`
	Protocol   device.Protocol   `json:"protocol"`
	Ceilings   device.Ceilings   `json:"ceilings"`
	Valid      int64             `json:"valid_configurations,omitempty"` // in the space that was searched
	RecordedAt time.Time         `json:"recorded_at"`
}

// NewResult writes down one trial. Samples and other measured numbers are kept
// to six significant digits: a nanosecond of a millisecond, finer than the
// GPU's event timer.
func NewResult(t trial.Trial) Result {
	samples := make([]float64, len(t.SamplesMS))
	for i, s := range t.SamplesMS {
		samples[i] = round(s)
	}
	r := Result{
		Timestamp:     t.At.UTC().Truncate(time.Millisecond),
		Configuration: withTemplate(t.Configuration, t.Template),
		Times:         Times{Compilation: round(t.Phases.CompileMS), Validation: round(t.Phases.VerifyMS), Runtimes: samples},
		Invalidity:    invalidities[t.Status],
		Objectives:    []string{objective},
		Measurements:  measure(t, samples),
		Extra: Extra{
			Status: t.Status, Message: t.Message, Digest: t.KernelDigest, Batch: t.Time.Batch,
			MeasureMS: round(t.Phases.MeasureMS), Dropped: t.Dropped, Warnings: t.Warnings,
		},
	}
	if len(r.Extra.Digest) > digestLength {
		r.Extra.Digest = r.Extra.Digest[:digestLength]
	}
	if t.Status == trial.OK {
		r.Correctness = 1
	}
	return r
}

// Evaluation is what the device said when the result was recorded.
func (r Result) Evaluation() device.Evaluation {
	return device.Evaluation{
		Status:      r.Extra.Status,
		Message:     r.Extra.Message,
		Samples:     append([]float64(nil), r.Times.Runtimes...),
		Batch:       r.Extra.Batch,
		MaxAbsError: r.measured(maxAbsError),
		Resources: trial.Resources{
			Registers:   int(r.measured(registers)),
			SharedBytes: int64(r.measured(sharedBytes)),
			LocalBytes:  int64(r.measured(localBytes)),
			Occupancy:   r.measured(occupancy),
		},
		VerifyMS:  r.Times.Validation,
		MeasureMS: r.Extra.MeasureMS,
		CompileMS: r.Times.Compilation,
		ClockMHz:  int(r.measured(clockMHz)),
		Warnings:  append([]string(nil), r.Extra.Warnings...),
		Dropped:   r.Extra.Dropped,
	}
}

// Template is the template whose configuration was recorded.
func (r Result) Template() string {
	name, _ := r.Configuration[templateKey].(string)
	return name
}

// Origin says in a few words what was recorded when on what, for output that
// must not be taken for a measurement made now.
func (m Metadata) Origin() string {
	return fmt.Sprintf("recording of %s on %s", m.RecordedAt.UTC().Format(time.DateOnly), m.Device.Name)
}

// Lookup finds the result of a configuration.
func (r *Recording) Lookup(c space.Configuration) (Result, bool) {
	want := key(withTemplate(c.Map(), c.Template))
	for _, result := range r.Results {
		if key(result.Configuration) == want {
			return result, true
		}
	}
	return Result{}, false
}

// LookupDigest finds the results of a kernel by its digest: the whole of one,
// as operator.Kernel.Digest gives it.
func (r *Recording) LookupDigest(digest string) (Result, bool) {
	for _, result := range r.Results {
		if result.matches(digest) {
			return result, true
		}
	}
	return Result{}, false
}

// matches tells whether the result is of the kernel with this digest.
func (r Result) matches(digest string) bool {
	return r.Extra.Digest != "" && strings.HasPrefix(digest, r.Extra.Digest)
}
