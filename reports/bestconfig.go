package reports

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"autotune/space"
	"autotune/tuner/device"
	"autotune/tuner/final"
	"autotune/tuner/operator"
	"autotune/tuner/strategy"
	"autotune/tuner/trial"
)

// Schema names the best-config document and its version. A new field does not
// change it; a field that goes or changes its meaning does.
const Schema = "autotune/best-config/1"

// BestConfig is the document that a search leaves behind: the winner and the
// evidence for it. docs/best-config.md describes every field. Of the shared
// records it holds what the document is about; complete leaves the rest out.
type BestConfig struct {
	Schema   string                 `json:"schema"`
	Tool     string                 `json:"tool,omitempty"` // "autotune 0.1.0"
	Operator string                 `json:"operator"`
	Problem  operator.ProblemRecord `json:"problem"`
	Device   device.Info            `json:"device"`
	space.Configuration
	Macros             map[string]string         `json:"macros"`
	Launches           operator.Launches         `json:"launch"`
	Target             string                    `json:"target,omitempty"`           // what the kernel was compiled for: "sm_90a"
	KernelDigest       string                    `json:"kernel_digest,omitempty"`    // of the kernel and its launches; 16 digits at least
	ReferenceDigest    string                    `json:"reference_digest,omitempty"` // of what it was verified against, likewise
	Time               trial.Timing              `json:"time_ms"`
	Conditions         device.Conditions         `json:"conditions,omitzero"` // of all its times of variants
	Baselines          map[BaselineName]Baseline `json:"baselines"`           // the known ones
	Roofline           Roofline                  `json:"roofline"`
	CopyBandwidthShare float64                   `json:"copy_bandwidth_share,omitempty"`
	trial.Measured
	Metrics   map[string]float64 `json:"metrics,omitempty"`   // the operator's own
	Objective string             `json:"objective,omitempty"` // what the winner is the best of, as "max:gflops"; empty: the time
	Ties      []final.Contender  `json:"ties,omitempty"`      // the winner and those that the finals could not tell from it
	Gates     *final.Gates       `json:"gates,omitempty"`     // that it passed
	// Confirmation is a second worker's; nil: there was none.
	Confirmation *final.Confirmation `json:"confirmation,omitempty"`
	Trials       Trials              `json:"trials"`
	Search       Search              `json:"search"`
	Recording    *Recording          `json:"recording,omitempty"` // of a replay
	Warnings     []string            `json:"warnings"`
	Doubts       []trial.Warning     `json:"doubts,omitempty"` // about the trials' measurements, by kind
	RecordedAt   time.Time           `json:"recorded_at"`
}

// BaselineName names what the winner is compared with: one of those below, or
// another in lower case that a recording brings along.
type BaselineName string

// The baselines.
const (
	Default      BaselineName = "default"       // the untuned default configuration
	Reference    BaselineName = "reference"     // the operator's plain reference kernel
	TorchEager   BaselineName = "torch_eager"   // PyTorch as called
	TorchCompile BaselineName = "torch_compile" // PyTorch through torch.compile

	// TorchEagerFP32 is PyTorch with TF32 turned off, for problems where it is on.
	TorchEagerFP32 BaselineName = "torch_eager_fp32"
)

// usual are the baselines that reports know, in the order they show them.
var usual = []struct {
	name  BaselineName
	title string // for people
}{
	{Default, "untuned default"},
	{Reference, "reference kernel"},
	{TorchEager, "PyTorch eager"},
	{TorchCompile, "torch.compile"},
	{TorchEagerFP32, "PyTorch eager, fp32"},
}

// place is the name's place among the usual ones; others come after them.
func (n BaselineName) place() int {
	for i, u := range usual {
		if u.name == n {
			return i
		}
	}
	return len(usual)
}

// title names the baseline for people.
func (n BaselineName) title() string {
	if i := n.place(); i < len(usual) {
		return usual[i].title
	}
	return strings.ReplaceAll(string(n), "_", " ")
}

// baselineNames are the document's baselines in the order reports show them:
// the usual ones, then others by name.
func (b BestConfig) baselineNames() []BaselineName {
	return slices.SortedFunc(maps.Keys(b.Baselines), func(x, y BaselineName) int {
		return cmp.Or(x.place()-y.place(), cmp.Compare(x, y))
	})
}

// Baseline is the time of something else that solves the problem.
type Baseline struct {
	TimeMS  float64 `json:"time_ms"`
	Speedup float64 `json:"speedup"` // of the winner over it
}

// Roofline is the least time that the machine allows, and how near the winner is.
// Unknown quantities are zero, as all are on the emulator.
type Roofline struct {
	Bytes         int64   `json:"bytes"`                    // that must be moved
	Flops         int64   `json:"flops"`                    // that must be computed
	CopyBandwidth float64 `json:"copy_bandwidth,omitempty"` // measured, bytes a second, read plus write
	FloorMS       float64 `json:"floor_ms,omitempty"`       // bytes over copy bandwidth
	Share         float64 `json:"share,omitempty"`          // floor over the winner's median
}

// Trials counts what was evaluated.
type Trials struct {
	Total    int                  `json:"total"`
	ByStatus map[trial.Status]int `json:"by_status"` // those that occurred
}

// Search says how the winner was found.
type Search struct {
	Strategy            string            `json:"strategy,omitempty"`
	Seconds             float64           `json:"seconds"`
	Evaluations         int               `json:"evaluations"`                    // in this run
	Resumed             int               `json:"resumed,omitempty"`              // trials answered from the cache
	ValidConfigurations int64             `json:"valid_configurations,omitempty"` // in the whole space
	Part                string            `json:"part,omitempty"`                 // of the space, that was searched; empty: all of it
	Stop                string            `json:"stop,omitempty"`                 // why it ended
	Outlook             *strategy.Outlook `json:"outlook,omitempty"`              // what may be left to gain
	// StartedFrom are problems whose winners were tried first.
	StartedFrom []string `json:"started_from,omitempty"`
	Spent       *Spent   `json:"spent,omitempty"`
}

// Spent says where a search's time went, in seconds. Compilations run side by
// side: their sum can exceed the search's seconds.
type Spent struct {
	Open    float64 `json:"open"`    // preparing tensors and the reference's output
	Compile float64 `json:"compile"` // all compilations together
	Verify  float64 `json:"verify"`
	Measure float64 `json:"measure"`
	Finals  float64 `json:"finals"` // timing the leaders again
	Wait    float64 `json:"wait"`   // the device had nothing to do
	// Busy is the share of the search in which the device was at work or every
	// compile worker was.
	Busy float64 `json:"busy"`
}

// Recording is what a replay answered from.
type Recording struct {
	File       string    `json:"file"`
	RecordedAt time.Time `json:"recorded_at"`
	Device     string    `json:"device"`
}

// Compare fills in a baseline; a time of zero is not known and left out. The
// winner's time must be set before.
func (b *BestConfig) Compare(name BaselineName, timeMS float64) {
	if timeMS <= 0 || b.Time.Median <= 0 {
		return
	}
	if b.Baselines == nil {
		b.Baselines = map[BaselineName]Baseline{}
	}
	b.Baselines[name] = Baseline{TimeMS: timeMS, Speedup: timeMS / b.Time.Median}
}

// SetRoofline fills in Roofline and CopyBandwidthShare. A bandwidth of zero is
// not known. The winner's time must be set before.
func (b *BestConfig) SetRoofline(bytes, flops int64, copyBytesPerMS float64) {
	b.Roofline = Roofline{Bytes: bytes, Flops: flops}
	b.CopyBandwidthShare = 0
	if copyBytesPerMS <= 0 {
		return
	}
	b.Roofline.CopyBandwidth = copyBytesPerMS * 1000
	b.Roofline.FloorMS = float64(bytes) / copyBytesPerMS
	if b.Time.Median > 0 {
		b.Roofline.Share = b.Roofline.FloorMS / b.Time.Median
		b.CopyBandwidthShare = b.Roofline.Share
	}
}

// Found tells whether the search has a winner.
func (b BestConfig) Found() bool { return b.Template != "" }
