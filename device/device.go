// Package device says what a device must do for a search: compile a variant,
// verify it against the operator's reference and time it.
//
// A Device is opened once; Open on it prepares one problem (tensors, the reference's output, the ceilings to compare
// with) as a Session, and Evaluate is called once a variant. What goes wrong with one variant is a status in its
// Outcome; an error from Evaluate means that the device cannot go on.
package device

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/space"
)

type Info struct {
	Name       string          `json:"name"` // "NVIDIA H100 80GB HBM3"
	Kind       Kind            `json:"kind"`
	Driver     string          `json:"driver,omitempty"`
	Compiler   string          `json:"compiler,omitempty"`
	Limits     operator.Limits `json:"limits,omitzero"`
	RecordedAt time.Time       `json:"recorded_at,omitzero"` // of a recording
	Recording  string          `json:"recording,omitempty"`  // file that a replay answers from
}

// UnmarshalJSON reads what others may have written: names are one line, since they
// go into tables, plots and the comments of exported code.
func (i *Info) UnmarshalJSON(data []byte) error {
	type plain Info
	if err := json.Unmarshal(data, (*plain)(i)); err != nil {
		return err
	}
	for _, name := range []*string{&i.Name, &i.Driver, &i.Compiler, &i.Recording} {
		*name = output.Line(*name)
	}
	return nil
}

// Protocol is how variants are verified and timed. It is part of a trial's provenance: other protocol, other trial.
type Protocol struct {
	Version        int           `json:"version"` // raised when measuring changes its meaning
	Samples        int           `json:"samples"` // at most, a variant
	MinSamples     int           `json:"min_samples"`
	WarmUp         int           `json:"warm_up"`         // launches never counted
	BatchBelow     time.Duration `json:"batch_below"`     // shorter launches are timed in batches
	MeasureTime    time.Duration `json:"measure_time"`    // samples stop after this much time, a variant
	DropRatio      float64       `json:"drop_ratio"`      // racing: stop when the first samples exceed best times this
	LaunchTimeout  time.Duration `json:"launch_timeout"`  // a kernel that runs longer is a timeout
	CompileTimeout time.Duration `json:"compile_timeout"` // likewise a compilation
	Seed           uint32        `json:"seed"`            // of the input generator
	Distribution   string        `json:"distribution"`    // of the inputs: uniform01, normal, negative, special
	// Conditions are those of the samples. The usual ones are left out in JSON, and so in digests of it.
	Conditions Conditions `json:"conditions,omitzero"`
}

// Unconditioned is the protocol without its conditions, for documents that hold these elsewhere.
func (p Protocol) Unconditioned() Protocol {
	p.Conditions = Conditions{}
	return p
}

// ProtocolFor is the protocol that a search of an operator uses: the default one
// on the first distribution of inputs that the operator lists.
func ProtocolFor(o *operator.Operator) Protocol {
	p := DefaultProtocol()
	p.Distribution = o.Inputs[0]
	return p
}

// DefaultProtocol is the protocol of every search, on inputs in [0, 1).
func DefaultProtocol() Protocol {
	return Protocol{
		Version: 1, Samples: 30, MinSamples: 5, WarmUp: 2,
		BatchBelow: 20 * time.Microsecond, MeasureTime: 300 * time.Millisecond,
		DropRatio: 1.15, LaunchTimeout: 10 * time.Second, CompileTimeout: 30 * time.Second,
		Seed: 1, Distribution: "uniform01",
	}
}

// Device is a place where variants run.
type Device interface {
	Info() Info
	// Compiler compiles for this device; nil where its kind does not compile.
	Compiler() compile.Compiler
	// Arch is the target that the compiler is given, as "sm_90".
	Arch() string
	Open(ctx context.Context, p *operator.Problem, reference *compile.Binary, proto Protocol) (Session, error)
	Close() error
}

// Recorded is a Device that can answer for some configurations only, those of an earlier search.
type Recorded interface {
	// Configurations lists them in the order of that search.
	Configurations() []space.Configuration
	// Conditions are those under which it was timed.
	Conditions() Conditions
}

// Session is a device with one problem's tensors in place.
type Session interface {
	Ceilings() Ceilings
	// Evaluate verifies and times one variant. best is the fastest median seen
	// so far in milliseconds (0: none), for racing.
	Evaluate(ctx context.Context, v Variant, best float64) (trial.Outcome, error)
	// Check launches a variant several times, without timing it, and tells how
	// often it did. Devices whose kind does not compile have an error instead.
	Check(ctx context.Context, v Variant, c Check) (o trial.Outcome, launches int, err error)
	// Refill draws the inputs anew and computes the reference's answer to them.
	Refill(ctx context.Context, in Inputs) error
	Close() error
}

// Variant is a configuration compiled for a device.
type Variant struct {
	Configuration space.Configuration
	Kernel        operator.Kernel
	Binary        *compile.Binary // nil where the device's kind does not compile
}

// Ceilings are what a session measured once, to compare variants with.
type Ceilings struct {
	ReferenceMS    float64 `json:"reference_ms"`                // median time of the reference kernel
	CopyBytesPerMS float64 `json:"copy_bytes_per_ms,omitempty"` // read + write, device to device
	// Baselines are times in milliseconds that were measured beside a recorded
	// search, by name (torch_eager, torch_compile, ...).
	Baselines map[string]float64 `json:"baselines,omitempty"`
	Peaks     Peaks              `json:"peaks,omitempty"` // of the device
}

// FloorMS is what a copy takes that moves so many bytes, in milliseconds; 0 if that is unknown.
func (c Ceilings) FloorMS(bytes int64) float64 {
	if c.CopyBytesPerMS <= 0 {
		return 0
	}
	return float64(bytes) / c.CopyBytesPerMS
}

// RaceFinder is a Session that can look for data races: accesses of a kernel's threads that nothing orders, whatever
// the order they ran in.
type RaceFinder interface {
	// Races launches a variant with its accesses watched. A race is a wrong result. Without one, looked says what
	// was looked for, or why nothing was.
	Races(ctx context.Context, v Variant) (o trial.Outcome, looked string, err error)
}

type Inputs struct {
	Distribution string
	Seed         uint32
}

// Inputs are those that variants are searched on.
func (p Protocol) Inputs() Inputs { return Inputs{p.Distribution, p.Seed} }

// Check asks for launches beyond the verifying one. Before them outputs hold in turn a NaN, what the launch before
// left, and zeros. After each launch everything is checked: outputs, inputs, guard zones, the reference's output.
type Check struct {
	Launches int           // 0 counts as 1
	Exact    bool          // every launch must give the bits of the first
	Limit    time.Duration // no further launch begins after this time; 0: none
	// Changes asks for one more launch, of the same loaded kernel, after a few places of the drawn inputs have
	// changed. The device draws these places each time. The inputs are afterwards what they were.
	Changes bool `json:",omitempty"`
	// Leave is an empty folder of this machine for what the last launch read and wrote, if all were right: files that
	// package answers names. Only a GPU of this machine does that. "": nowhere.
	Leave string `json:",omitempty"`
}

// ErrNone means that there is no such device on this machine; the message
// wrapped around it says what is missing and what to do.
var ErrNone = errors.New("no such device")

// Reason is what an error that wraps ErrNone says besides that.
func Reason(err error) string {
	return strings.TrimSuffix(err.Error(), ": "+ErrNone.Error())
}

var ErrMemory = errors.New("not enough device memory")

// GiB writes an amount of memory as messages give it.
func GiB(bytes int64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30)) }

// ModeChoice says who chose a problem's math mode, or that PyTorch computes the problem in another one: Err ends the
// search.
type ModeChoice struct {
	By  string
	Err error
}

// Peaks are what a device reaches at most in kinds of work beside copies: bytes or operations a
// millisecond, those measured.
type Peaks map[string]float64

// The kinds of work. 16 bits are bf16 and fp16 alike.
const (
	PeakL2   = "l2"
	PeakFP32 = "fp32"
	PeakTF32 = "tf32"
	PeakFP16 = "fp16"
)

// PeakNames are the kinds in the order that reports show them, with what these call them.
var PeakNames = []struct{ Kind, Name string }{
	{PeakL2, "L2"}, {PeakFP32, "fp32"}, {PeakTF32, "TF32"}, {PeakFP16, "16 bits"},
}

// ErrGone means that a worker is no longer there, or that none is left. Another worker may be asked instead.
var ErrGone = errors.New("the worker is gone")

// MostWorkers is how many workers of a Pool a search uses.
const MostWorkers = 512

// Pool is a Device that is several of one model, each driven by a worker of its own. Many goroutines may ask its
// sessions at once: any worker answers, and the Outcome says which.
type Pool interface {
	Device
	// Workers names those that are fit for use now, in order. They come and go.
	Workers() []string
	// Worker is one of them as a Device of its own, for what has to be done in one
	// place. Once it is gone, its sessions end with ErrGone.
	Worker(name string) Device
}

// ErrLost means that this process can no longer use a device: its context is gone, with all of its memory. Another
// process may open it anew. An Outcome beside such an error counts if it has a Status.
var ErrLost = errors.New("the device's context is lost")

// Launcher is a Device that can launch a variant once on the operator's inputs, without checking
// its results: for a program that watches the launch.
type Launcher interface {
	Launch(ctx context.Context, p *operator.Problem, proto Protocol, v Variant) (trial.Outcome, error)
}
