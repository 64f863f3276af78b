// Package device defines the interface of every device that a search can use. A device compiles a variant, verifies it
// against the operator's reference and times it.
//
// A search opens a Device once. Device.Open prepares one problem (tensors, the reference's output, the ceilings to
// compare with) as a Session, and the search calls Evaluate once for each variant. A failure of one variant is a status
// in its Outcome; an error from Evaluate means that the device cannot go on.
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
	RecordedAt time.Time       `json:"recorded_at,omitzero"` // the date of a recording
	Recording  string          `json:"recording,omitempty"`  // the file that a replay answers from
}

// UnmarshalJSON reads JSON that another program may have written. UnmarshalJSON makes each name a single line, because
// names go into tables, plots and comments of exported code.
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

// Protocol says how variants are verified and timed. A trial's provenance includes the protocol: trials made under
// different protocols are different trials.
type Protocol struct {
	Version        int           `json:"version"` // raised when samples change their meaning
	Samples        int           `json:"samples"` // at most, per variant
	MinSamples     int           `json:"min_samples"`
	WarmUp         int           `json:"warm_up"`         // launches that are not counted
	BatchBelow     time.Duration `json:"batch_below"`     // shorter launches are timed in batches
	MeasureTime    time.Duration `json:"measure_time"`    // sampling of a variant stops after this much time
	DropRatio      float64       `json:"drop_ratio"`      // racing ends sampling above this multiple of the best time
	LaunchTimeout  time.Duration `json:"launch_timeout"`  // a kernel that runs longer is a timeout
	CompileTimeout time.Duration `json:"compile_timeout"` // a compilation that takes longer is a timeout
	Seed           uint32        `json:"seed"`            // of the input generator
	Distribution   string        `json:"distribution"`    // of the inputs: uniform01, normal, negative, special
	// Conditions say in which state of the L2 cache and in which form launches are timed. JSON omits defaults.
	Conditions Conditions `json:"conditions,omitzero"`
}

// Unconditioned returns the protocol without its timing conditions, for documents that store the conditions elsewhere.
func (p Protocol) Unconditioned() Protocol {
	p.Conditions = Conditions{}
	return p
}

// ProtocolFor returns the protocol that a search of an operator uses: the default protocol with the first distribution
// of inputs that the operator lists.
func ProtocolFor(o *operator.Operator) Protocol {
	p := DefaultProtocol()
	p.Distribution = o.Inputs[0]
	return p
}

// DefaultProtocol returns the protocol that every search starts from; its inputs are uniform in [0, 1).
func DefaultProtocol() Protocol {
	return Protocol{
		Version: 1, Samples: 30, MinSamples: 5, WarmUp: 2,
		BatchBelow: 20 * time.Microsecond, MeasureTime: 300 * time.Millisecond,
		DropRatio: 1.15, LaunchTimeout: 10 * time.Second, CompileTimeout: 30 * time.Second,
		Seed: 1, Distribution: "uniform01",
	}
}

// Device runs variants, or answers from a recording of such runs.
type Device interface {
	Info() Info
	// Compiler returns the compiler for this device, or nil if devices of this kind do not compile.
	Compiler() compile.Compiler
	// Arch returns the architecture to compile for, for example "sm_90".
	Arch() string
	Open(ctx context.Context, p *operator.Problem, reference *compile.Binary, proto Protocol) (Session, error)
	Close() error
}

// Recorded is a Device that answers from the recording of an earlier search, and only for the configurations in it.
type Recorded interface {
	// Configurations lists the recorded configurations in the order of the recorded search.
	Configurations() []space.Configuration
	// Conditions returns the conditions under which the recorded search was timed.
	Conditions() Conditions
}

// Session is a problem that is open on a device, with its tensors in place.
type Session interface {
	Ceilings() Ceilings
	// Evaluate verifies and times one variant. best is the fastest median seen so far, in milliseconds, or 0 if there
	// is none; sampling stops early for a variant that is clearly slower.
	Evaluate(ctx context.Context, v Variant, best float64) (trial.Outcome, error)
	// Check launches a variant several times without timing it, and returns how many launches it made. Check returns an
	// error on devices that do not compile kernels.
	Check(ctx context.Context, v Variant, c Check) (o trial.Outcome, launches int, err error)
	// Refill generates new inputs and computes the reference's output for them.
	Refill(ctx context.Context, in Inputs) error
	Close() error
}

// Variant is a configuration compiled for a device.
type Variant struct {
	Configuration space.Configuration
	Kernel        operator.Kernel
	Binary        *compile.Binary // nil if the device's kind does not compile
}

// Ceilings are the limits that a session measured once and that variants are compared with.
type Ceilings struct {
	ReferenceMS    float64 `json:"reference_ms"`                // median time of the reference kernel
	CopyBytesPerMS float64 `json:"copy_bytes_per_ms,omitempty"` // bytes read and written by a copy on the device
	// Baselines are times in milliseconds that were measured together with a recorded search, by the name of the
	// baseline (torch_eager, torch_compile, ...).
	Baselines map[string]float64 `json:"baselines,omitempty"`
	Peaks     Peaks              `json:"peaks,omitempty"` // of the device
}

// FloorMS returns the time in milliseconds that a copy of this many bytes takes, or 0 if the copy's rate is unknown.
func (c Ceilings) FloorMS(bytes int64) float64 {
	if c.CopyBytesPerMS <= 0 {
		return 0
	}
	return float64(bytes) / c.CopyBytesPerMS
}

// RaceFinder is a Session that can find data races: two accesses of a kernel's threads to one place, in no defined
// order, of which one writes.
type RaceFinder interface {
	// Races launches a variant and watches its memory accesses. A race makes the outcome a wrong result. If Races found
	// no race, looked says which races it can find, or why it did not look.
	Races(ctx context.Context, v Variant) (o trial.Outcome, looked string, err error)
}

type Inputs struct {
	Distribution string
	Seed         uint32
}

// Inputs returns the protocol's inputs, on which a search verifies and times its variants.
func (p Protocol) Inputs() Inputs { return Inputs{p.Distribution, p.Seed} }

// Check asks for more launches than the one that verifies a variant. Before the launches of a check the outputs hold,
// in turn, NaNs, the results of the previous launch, and zeros. Each launch of a check is followed by a check of
// everything: outputs, inputs, guard zones and the reference's output.
type Check struct {
	Launches int           // 0 counts as 1
	Exact    bool          // every launch must produce the same bits as the first
	Limit    time.Duration // no launch begins after this time; 0 means no limit
	// Changes asks for one more launch of the same loaded kernel, after a few elements of the random inputs were
	// changed. The device picks the changed elements at random each time, and restores the inputs afterwards.
	Changes bool `json:",omitempty"`
	// Leave is the path of an empty folder on this machine for the tensors of the last launch, or "" if they are not
	// wanted. If all launches were right, the device writes the tensors that the last launch read and wrote into the
	// folder Leave, in files that package answers names. Only GPUs of this machine support the field Leave.
	Leave string `json:",omitempty"`
}

// ErrNone means that this machine has no device of the requested kind. Errors that wrap ErrNone say what is missing.
var ErrNone = errors.New("no such device")

// Reason returns the message of an error that wraps ErrNone, without the text of ErrNone.
func Reason(err error) string {
	return strings.TrimSuffix(err.Error(), ": "+ErrNone.Error())
}

var ErrMemory = errors.New("not enough device memory")

// GiB formats an amount of memory for messages, as in "1.5 GiB".
func GiB(bytes int64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30)) }

// ModeChoice says who chose a problem's math mode. An error in Err ends the search, because PyTorch would compute the
// problem in another math mode.
type ModeChoice struct {
	By  string
	Err error
}

// Peaks holds, for each measured kind of work other than copies, the highest rate that a device reaches, in bytes or
// operations per millisecond.
type Peaks map[string]float64

// The following constants name the kinds of work whose peak rate is measured. PeakFP16 stands for bf16 and fp16 alike.
const (
	PeakL2   = "l2"
	PeakFP32 = "fp32"
	PeakTF32 = "tf32"
	PeakFP16 = "fp16"
)

// PeakNames lists the kinds of work in the order of reports, each with its name in reports.
var PeakNames = []struct{ Kind, Name string }{
	{PeakL2, "L2"}, {PeakFP32, "fp32"}, {PeakTF32, "TF32"}, {PeakFP16, "16 bits"},
}

// ErrGone means that a worker has left or that no worker is left; the caller may send the request to another worker.
var ErrGone = errors.New("the worker is gone")

// MostWorkers is the largest number of a Pool's workers that a search uses.
const MostWorkers = 512

// Pool is a Device made of several devices of one model, each driven by its own worker process. Many goroutines may use
// a Pool's sessions at once: any free worker evaluates the variant, and the Outcome names that worker.
type Pool interface {
	Device
	// Workers returns the names of the workers that can be used now, in order. Workers may join and leave at any time.
	Workers() []string
	// Worker returns one worker as a Device of its own, for work that has to stay on one GPU. The sessions of the
	// Device that Worker returns end with ErrGone once the worker has gone.
	Worker(name string) Device
}

// ErrLost means that this process can no longer use a device, because its context and all memory in it are gone.
// Another process may open the lost device again. An Outcome returned together with ErrLost is valid if it has a
// Status.
var ErrLost = errors.New("the device's context is lost")

// Launcher is a Device that can launch a variant once on the operator's inputs without checking the results, for a
// profiler that watches the launch.
type Launcher interface {
	Launch(ctx context.Context, p *operator.Problem, proto Protocol, v Variant) (trial.Outcome, error)
}
