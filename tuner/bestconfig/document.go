// Package bestconfig is the document that a search leaves behind: the winner and the evidence for it.
//
// A Document is plain data. FromRecord makes one of a search's record and FromRecording one of a recording;
// WriteJSON and Read carry it to and from files, and package reports shows it. A search that found no valid
// variant has a Document without a template: it cannot be written, but it can be shown.
package bestconfig

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"autotune/device"
	"autotune/device/trial"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner"
	"autotune/tuner/torchtimes"
)

// Schema names the document and its version. A new field does not change it; a field that goes or changes its
// meaning does.
const Schema = "autotune/best-config/1"

// Document is a winner and its evidence. docs/best-config.md describes every field. complete empties those fields of
// the shared records that the document does not have.
type Document struct {
	Schema   string                 `json:"schema"`
	Tool     string                 `json:"tool,omitempty"` // "autotune 0.1.0"
	Operator string                 `json:"operator"`
	Problem  operator.ProblemRecord `json:"problem"`
	Device   device.Info            `json:"device"`
	space.Configuration
	Macros   map[string]string `json:"macros"`
	Launches operator.Launches `json:"launch"`
	Target   string            `json:"target,omitempty"` // what the kernel was compiled for: "sm_90a"
	// The digests are of the kernel with its launches and of what it was verified against: 16 digits at least.
	KernelDigest       string                    `json:"kernel_digest,omitempty"`
	ReferenceDigest    string                    `json:"reference_digest,omitempty"`
	Time               trial.Timing              `json:"time_ms"`
	Conditions         device.Conditions         `json:"conditions,omitzero"` // of all its times of variants
	Protocol           device.Protocol           `json:"protocol,omitzero"`   // of its other rules, without conditions
	Baselines          map[string]tuner.Baseline `json:"baselines"`           // the known ones, by name
	Roofline           Roofline                  `json:"roofline"`
	CopyBandwidthShare float64                   `json:"copy_bandwidth_share,omitempty"`
	trial.Measured
	tuner.Evidence
	Trials     tuner.Counts    `json:"trials"`
	Search     Search          `json:"search"`
	Recording  *Recording      `json:"recording,omitempty"` // of a replay
	Warnings   []string        `json:"warnings"`
	Doubts     []trial.Warning `json:"doubts,omitempty"` // about the trials' measurements, by kind
	RecordedAt time.Time       `json:"recorded_at"`
}

// Roofline is the least time that the machine allows, and how near the winner is.
// Unknown quantities are zero, as all are on the emulator.
type Roofline struct {
	Bytes         int64   `json:"bytes"`                    // that must be moved
	Flops         int64   `json:"flops"`                    // that must be computed
	CopyBandwidth float64 `json:"copy_bandwidth,omitempty"` // measured, bytes a second, read plus write
	FloorMS       float64 `json:"floor_ms,omitempty"`       // bytes over copy bandwidth
	Share         float64 `json:"share,omitempty"`          // floor over the winner's median
	// Peaks are what the device reached in other kinds of work: bytes or operations a second.
	Peaks map[string]float64 `json:"peaks,omitempty"`
}

// Search says how the winner was found.
type Search struct {
	Strategy            string  `json:"strategy,omitempty"`
	Seconds             float64 `json:"seconds"`
	Evaluations         int     `json:"evaluations"`                    // in this run
	Resumed             int     `json:"resumed,omitempty"`              // trials answered from the cache
	ValidConfigurations int64   `json:"valid_configurations,omitempty"` // in the whole space
	tuner.Extent
	Spent *tuner.Spent `json:"spent,omitempty"`
}

// Recording is what a replay answered from.
type Recording struct {
	File       string    `json:"file"`
	RecordedAt time.Time `json:"recorded_at"`
	Device     string    `json:"device"`
}

// Found reports whether the search has a winner.
func (d Document) Found() bool { return d.Template != "" }

// Compare fills in a baseline; a time of zero is not known and left out. The winner's time must be set before.
func (d *Document) Compare(name string, timeMS float64) {
	if timeMS <= 0 || d.Time.Median <= 0 {
		return
	}
	if d.Baselines == nil {
		d.Baselines = map[string]tuner.Baseline{}
	}
	d.Baselines[name] = tuner.Baseline{TimeMS: timeMS, Speedup: timeMS / d.Time.Median}
}

// SetRoofline fills in Roofline and CopyBandwidthShare. A bandwidth of zero is not known. The winner's time must be
// set before.
func (d *Document) SetRoofline(bytes, flops int64, copyBytesPerMS float64) {
	d.Roofline = Roofline{Bytes: bytes, Flops: flops}
	if copyBytesPerMS > 0 {
		d.Roofline.CopyBandwidth = copyBytesPerMS * 1000
		d.Roofline.FloorMS = float64(bytes) / copyBytesPerMS
		if d.Time.Median > 0 {
			d.Roofline.Share = d.Roofline.FloorMS / d.Time.Median
		}
	}
	d.CopyBandwidthShare = d.Roofline.Share
}

// SetPeaks fills in what the device reaches at most.
func (d *Document) SetPeaks(peaks device.Peaks) {
	if len(peaks) == 0 {
		return
	}
	d.Roofline.Peaks = map[string]float64{}
	for kind, rate := range peaks {
		d.Roofline.Peaks[kind] = rate * 1000
	}
}

// Peak is the highest rate of arithmetic for the problem, operations a second, and what it is the
// peak of; 0 where it was not measured.
func (d Document) Peak() (rate float64, of string) {
	kind := device.PeakFP32
	if strings.HasPrefix(d.Problem.Math, device.PeakTF32) {
		kind = device.PeakTF32
	}
	for _, p := range d.Problem.Parameters {
		if p.Name == "type" && (p.Value == "f16" || p.Value == "bf16") {
			kind = device.PeakFP16
		}
	}
	for _, n := range device.PeakNames {
		if n.Kind == kind {
			of = n.Name
		}
	}
	return d.Roofline.Peaks[kind], of
}

// WinningTrial is the winner as a trial.
func (d Document) WinningTrial() trial.Trial {
	return trial.Trial{
		Configuration: d.Configuration, Launches: d.Launches, KernelDigest: d.KernelDigest, At: d.RecordedAt,
		Outcome: trial.Outcome{Status: trial.OK, Time: d.Time, Measured: d.Measured},
	}
}

// Comparable reports whether both are winners of one problem on one device, timed alike.
func (d Document) Comparable(other Document) bool {
	return d.Found() && other.Found() && d.Problem.Text == other.Problem.Text && d.Device.Name == other.Device.Name &&
		d.Conditions == other.Conditions
}

// Names of baselines. Package torchtimes names PyTorch's; a recording may bring others, in lower case.
const (
	Default   = "default"   // the untuned default configuration
	Reference = "reference" // the operator's plain reference kernel
)

// usual are the baselines that people know, in the order in which reports show them.
var usual = []struct{ name, title, short string }{
	{Default, "untuned default", "default"},
	{Reference, "reference kernel", "reference"},
	{torchtimes.Eager, "PyTorch eager", "eager"},
	{torchtimes.Compile, "torch.compile", "compile"},
	{torchtimes.EagerFP32, "PyTorch eager, fp32", "fp32"},
	{torchtimes.CuDNNBenchmark, "cudnn.benchmark", "benchmark"},
	{torchtimes.ChannelsLast, "PyTorch nhwc", "nhwc"},
}

// place is the name's place among the usual ones; others come after them.
func place(name string) int {
	for i, u := range usual {
		if u.name == name {
			return i
		}
	}
	return len(usual)
}

// Usual reports whether people know the baseline.
func Usual(name string) bool { return place(name) < len(usual) }

// Titles name a baseline for people, and at the head of a narrow column.
func Titles(name string) (title, short string) {
	if Usual(name) {
		return usual[place(name)].title, usual[place(name)].short
	}
	title = strings.ReplaceAll(name, "_", " ")
	return title, title
}

// Names are the baselines that any of the documents knows, in the order in which reports show them: the usual ones,
// then others by name.
func Names(list ...Document) []string {
	known := map[string]bool{}
	for _, d := range list {
		for name := range d.Baselines {
			known[name] = true
		}
	}
	return slices.SortedFunc(maps.Keys(known), func(x, y string) int {
		return cmp.Or(place(x)-place(y), cmp.Compare(x, y))
	})
}

// InTurns reports whether a baseline took turns with the winner.
func InTurns(b tuner.Baseline) bool { return b.CI95[1] > 0 }

var ownLayout = []string{torchtimes.Eager, torchtimes.Compile, torchtimes.EagerFP32, torchtimes.CuDNNBenchmark}

// OwnLayout reports whether a baseline is PyTorch, called with tensors that lie as the winner's do.
func OwnLayout(name string) bool { return slices.Contains(ownLayout, name) }

// PyTorch is the fastest of the wanted ways to call PyTorch with tensors that lie as the winner's do; without a name:
// there is none.
func (d Document) PyTorch(wanted func(tuner.Baseline) bool) (name string, fastest tuner.Baseline) {
	for _, way := range ownLayout {
		if b, known := d.Baselines[way]; known && wanted(b) && (name == "" || b.Speedup < fastest.Speedup) {
			name, fastest = way, b
		}
	}
	return name, fastest
}

// FasterPyTorch says which way to call PyTorch is faster than the winner, and by how much, where both took turns and
// the interval shows it. Of several it is the fastest.
func (d Document) FasterPyTorch() (text string, ok bool) {
	name, b := d.PyTorch(func(b tuner.Baseline) bool { return InTurns(b) && b.CI95[1] < 1 })
	if name == "" {
		return "", false
	}
	title, _ := Titles(name)
	return title + " is " + FormatSpeedup(1/b.Speedup) + " as fast as the winner", true
}

// FormatSpeedup writes a ratio: 3.42x, 34.2x, 342x.
func FormatSpeedup(ratio float64) string {
	switch {
	case ratio < 9.995:
		return fmt.Sprintf("%.2fx", ratio)
	case ratio < 99.95:
		return fmt.Sprintf("%.1fx", ratio)
	}
	return fmt.Sprintf("%.0fx", ratio)
}
