// Package bestconfig reads and writes best-config documents, which hold the winner of a search and the evidence for it.
//
// FromRecord makes a Document from the record of a search, and FromRecording makes one from a recording; WriteJSON and
// Read store documents as JSON, and package reports presents them. A search that found no valid variant has a Document
// without a template: WriteJSON refuses it, but reports can show it.
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

// Schema names the best-config document and its version. The version in Schema changes when a field is removed or
// changes its meaning, but not when a field is added.
const Schema = "autotune/best-config/1"

// Document is a winner and its evidence. docs/best-config.md describes every field. Some fields of shared types do not
// belong to the document, and the method `complete` clears them.
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
	// KernelDigest is the digest of the winner's kernel and its launches, and ReferenceDigest that of the kernel which
	// defines the correct result. KernelDigest and ReferenceDigest have at least 16 hexadecimal digits.
	KernelDigest       string                    `json:"kernel_digest,omitempty"`
	ReferenceDigest    string                    `json:"reference_digest,omitempty"`
	Time               trial.Timing              `json:"time_ms"`
	Conditions         device.Conditions         `json:"conditions,omitzero"` // for the times of all variants
	Protocol           device.Protocol           `json:"protocol,omitzero"`   // measuring rules, no conditions
	Baselines          map[string]tuner.Baseline `json:"baselines"`           // known baselines by name
	Roofline           Roofline                  `json:"roofline"`
	CopyBandwidthShare float64                   `json:"copy_bandwidth_share,omitempty"`
	trial.Measured
	tuner.Evidence
	Trials     tuner.Counts    `json:"trials"`
	Search     Search          `json:"search"`
	Recording  *Recording      `json:"recording,omitempty"` // the recording, if the search was a replay
	Warnings   []string        `json:"warnings"`
	Doubts     []trial.Warning `json:"doubts,omitempty"` // doubts about the trials' measurements, by kind
	RecordedAt time.Time       `json:"recorded_at"`
}

// Roofline holds the least time in which the device could compute the problem, and how near the winner comes to it. A
// quantity is zero if it is not known, as all of these quantities are on the emulator.
type Roofline struct {
	Bytes         int64   `json:"bytes"`                    // bytes that a kernel must move
	Flops         int64   `json:"flops"`                    // operations that a kernel must do
	CopyBandwidth float64 `json:"copy_bandwidth,omitempty"` // measured, bytes a second, read plus write
	FloorMS       float64 `json:"floor_ms,omitempty"`       // Bytes divided by CopyBandwidth
	Share         float64 `json:"share,omitempty"`          // FloorMS divided by the winner's median
	// Peaks are the device's measured rates at work other than copying, in bytes or operations a second.
	Peaks map[string]float64 `json:"peaks,omitempty"`
}

// Search says how the winner was found.
type Search struct {
	Strategy            string  `json:"strategy,omitempty"`
	Seconds             float64 `json:"seconds"`
	Evaluations         int     `json:"evaluations"`                    // evaluations in this run
	Resumed             int     `json:"resumed,omitempty"`              // trials taken from the cache
	ValidConfigurations int64   `json:"valid_configurations,omitempty"` // number of configurations in the whole space
	tuner.Extent
	Spent *tuner.Spent `json:"spent,omitempty"`
}

// Recording names the recording from which a replay took its trials.
type Recording struct {
	File       string    `json:"file"`
	RecordedAt time.Time `json:"recorded_at"`
	Device     string    `json:"device"`
}

// Found reports whether the search has a winner.
func (d Document) Found() bool { return d.Template != "" }

// Compare adds a baseline unless its time is zero (unknown). The winner's time must be set before Compare is called.
func (d *Document) Compare(name string, timeMS float64) {
	if timeMS <= 0 || d.Time.Median <= 0 {
		return
	}
	if d.Baselines == nil {
		d.Baselines = map[string]tuner.Baseline{}
	}
	d.Baselines[name] = tuner.Baseline{TimeMS: timeMS, Speedup: timeMS / d.Time.Median}
}

// SetRoofline fills in Roofline and CopyBandwidthShare. A copy bandwidth of zero counts as unknown. The winner's time
// must be set before SetRoofline is called.
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

// SetPeaks fills in the device's measured peak rates.
func (d *Document) SetPeaks(peaks device.Peaks) {
	if len(peaks) == 0 {
		return
	}
	d.Roofline.Peaks = map[string]float64{}
	for kind, rate := range peaks {
		d.Roofline.Peaks[kind] = rate * 1000
	}
}

// Peak returns the device's highest rate of arithmetic for the problem's types, in operations a second, and the name of
// that kind of arithmetic. A rate that was not measured is 0.
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

// WinningTrial returns the winner as a trial.
func (d Document) WinningTrial() trial.Trial {
	return trial.Trial{
		Configuration: d.Configuration, Launches: d.Launches, KernelDigest: d.KernelDigest, At: d.RecordedAt,
		Outcome: trial.Outcome{Status: trial.OK, Time: d.Time, Measured: d.Measured},
	}
}

// Default and Reference are names of baselines; package torchtimes defines the names for PyTorch, and a recording may
// contain baselines with other names in lower case.
const (
	Default   = "default"   // the untuned default configuration
	Reference = "reference" // the operator's plain reference kernel
)

// usual lists the well-known baselines, in the order in which reports show them.
var usual = []struct{ name, title, short string }{
	{Default, "untuned default", "default"},
	{Reference, "reference kernel", "reference"},
	{torchtimes.Eager, "PyTorch eager", "eager"},
	{torchtimes.Compile, "torch.compile", "compile"},
	{torchtimes.EagerFP32, "PyTorch eager, fp32", "fp32"},
}

// place returns the index of a baseline's name in the list `usual`, or the list's length if the name is not in it.
func place(name string) int {
	for i, u := range usual {
		if u.name == name {
			return i
		}
	}
	return len(usual)
}

// Usual reports whether a baseline's name is one of the well-known names.
func Usual(name string) bool { return place(name) < len(usual) }

// Titles returns a baseline's name as reports show it, and a shorter form for the head of a narrow column.
func Titles(name string) (title, short string) {
	if Usual(name) {
		return usual[place(name)].title, usual[place(name)].short
	}
	title = strings.ReplaceAll(name, "_", " ")
	return title, title
}

// Names returns the baselines of all the documents in the order in which reports show them: the usual ones first,
// then the others by name.
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

// InTurns reports whether the baseline was timed in turns with the winner.
func InTurns(b tuner.Baseline) bool { return b.CI95[1] > 0 }

// PyTorch returns the fastest of the ways to call PyTorch that `wanted` accepts; the name is empty if the document
// contains no such way.
func (d Document) PyTorch(wanted func(tuner.Baseline) bool) (name string, fastest tuner.Baseline) {
	for _, way := range torchtimes.Ways() {
		if b, known := d.Baselines[way]; known && wanted(b) && (name == "" || b.Speedup < fastest.Speedup) {
			name, fastest = way, b
		}
	}
	return name, fastest
}

// FasterPyTorch names the fastest way to call PyTorch that is faster than the winner, and says by how much.
// FasterPyTorch considers only ways to call PyTorch that were timed in turns with the winner and whose confidence
// interval shows that they are faster.
func (d Document) FasterPyTorch() (text string, ok bool) {
	name, b := d.PyTorch(func(b tuner.Baseline) bool { return InTurns(b) && b.CI95[1] < 1 })
	if name == "" {
		return "", false
	}
	title, _ := Titles(name)
	return title + " is " + FormatSpeedup(1/b.Speedup) + " as fast as the winner", true
}

// FormatSpeedup writes a speedup with three digits: 3.42x, 34.2x, 342x.
func FormatSpeedup(ratio float64) string {
	switch {
	case ratio < 9.995:
		return fmt.Sprintf("%.2fx", ratio)
	case ratio < 99.95:
		return fmt.Sprintf("%.1fx", ratio)
	}
	return fmt.Sprintf("%.0fx", ratio)
}
