// Package reports turns the outcome of a search into things for people and for
// other programs: the best-config document, the table that a search ends with,
// and plots.
//
// BestConfig is the centre. It is plain data: the engine fills one in, WriteJSON
// and ReadBestConfig carry it to and from files, and Table, SpeedupPlot and
// SummaryPlot show it. ProgressPlot also wants the trials. A search that found
// no valid variant has a BestConfig too, without a template: it cannot be
// written as a document, but the table and the progress plot show it.
//
// Everything is written to an io.Writer; package output makes files of that.
package reports

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/input"
	"autotune/internal/jsonerror"
	"autotune/internal/jsonobject"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner"
	"autotune/tuner/final"
	"autotune/tuner/torchtimes"
)

// Schema names the best-config document and its version. A new field does not
// change it; a field that goes or changes its meaning does.
const Schema = "autotune/best-config/1"

// BestConfig is the document that a search leaves behind: the winner and the evidence for it.
// docs/best-config.md describes every field. complete empties those fields of the shared records
// that the document does not have.
type BestConfig struct {
	Schema   string                 `json:"schema"`
	Tool     string                 `json:"tool,omitempty"` // "autotune 0.1.0"
	Operator string                 `json:"operator"`
	Problem  operator.ProblemRecord `json:"problem"`
	Device   device.Info            `json:"device"`
	space.Configuration
	Macros             map[string]string           `json:"macros"`
	Launches           operator.Launches           `json:"launch"`
	Target             string                      `json:"target,omitempty"`           // what the kernel was compiled for: "sm_90a"
	KernelDigest       string                      `json:"kernel_digest,omitempty"`    // of the kernel and its launches; 16 digits at least
	ReferenceDigest    string                      `json:"reference_digest,omitempty"` // of what it was verified against, likewise
	Time               trial.Timing                `json:"time_ms"`
	Conditions         device.Conditions           `json:"conditions,omitzero"` // of all its times of variants
	Protocol           device.Protocol             `json:"protocol,omitzero"`   // of its other rules, without conditions
	Baselines          map[BaselineName]Comparison `json:"baselines"`           // the known ones
	Roofline           Roofline                    `json:"roofline"`
	CopyBandwidthShare float64                     `json:"copy_bandwidth_share,omitempty"`
	trial.Measured
	Metrics map[string]float64 `json:"metrics,omitempty"` // the operator's own
	tuner.Evidence
	Trials     tuner.Counts    `json:"trials"`
	Search     Search          `json:"search"`
	Recording  *Recording      `json:"recording,omitempty"` // of a replay
	Warnings   []string        `json:"warnings"`
	Doubts     []trial.Warning `json:"doubts,omitempty"` // about the trials' measurements, by kind
	RecordedAt time.Time       `json:"recorded_at"`
}

// BaselineName names what the winner is compared with: one of those below, or
// another in lower case that a recording brings along.
type BaselineName string

// The baselines.
const (
	Default   BaselineName = "default"   // the untuned default configuration
	Reference BaselineName = "reference" // the operator's plain reference kernel

	TorchEager          BaselineName = torchtimes.Eager
	TorchCompile        BaselineName = torchtimes.Compile
	TorchEagerFP32      BaselineName = torchtimes.EagerFP32 // for problems where TF32 is on
	TorchCuDNNBenchmark BaselineName = torchtimes.CuDNNBenchmark
	TorchChannelsLast   BaselineName = torchtimes.ChannelsLast
)

// usual are the baselines that reports know, in the order they show them.
var usual = []struct {
	name  BaselineName
	title string // for people
	short string // likewise, at the head of a narrow column
}{
	{Default, "untuned default", "default"},
	{Reference, "reference kernel", "reference"},
	{TorchEager, "PyTorch eager", "eager"},
	{TorchCompile, "torch.compile", "compile"},
	{TorchEagerFP32, "PyTorch eager, fp32", "fp32"},
	{TorchCuDNNBenchmark, "cudnn.benchmark", "benchmark"},
	{TorchChannelsLast, "PyTorch nhwc", "nhwc"},
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

// short names the baseline at the head of a narrow column.
func (n BaselineName) short() string {
	if i := n.place(); i < len(usual) {
		return usual[i].short
	}
	return n.title()
}

// pyTorch stands for the faster of PyTorch's ways, in summaries.
const pyTorch BaselineName = "PyTorch"

// ownLayout tells whether the name is PyTorch's, called with tensors that lie as the winner's do.
func (n BaselineName) ownLayout() bool {
	return n == TorchEager || n == TorchCompile || n == TorchEagerFP32 || n == TorchCuDNNBenchmark
}

// pyTorch is the faster of the ways to call PyTorch.
func (b BestConfig) pyTorch() (c Comparison, ok bool) {
	for name, base := range b.Baselines {
		if name.ownLayout() && (!ok || base.Speedup < c.Speedup) {
			c, ok = base, true
		}
	}
	return c, ok
}

// FasterPyTorch says which way to call PyTorch is faster than the winner, and by how much, where both took turns and the
// interval shows it. Of several it is the fastest.
func (b BestConfig) FasterPyTorch() (text string, ok bool) {
	least := 0.0
	for _, name := range b.baselineNames() {
		c := b.Baselines[name]
		if name.ownLayout() && c.inTurns() && c.SpeedupCI95[1] < 1 && (!ok || c.Speedup < least) {
			text, least, ok = fmt.Sprintf("%s is %s as fast as the winner", name.title(), formatSpeedup(1/c.Speedup)), c.Speedup, true
		}
	}
	return text, ok
}

// baselineNames are the document's baselines in the order reports show them:
// the usual ones, then others by name.
func (b BestConfig) baselineNames() []BaselineName {
	return slices.SortedFunc(maps.Keys(b.Baselines), func(x, y BaselineName) int {
		return cmp.Or(x.place()-y.place(), cmp.Compare(x, y))
	})
}

// Comparison is the time of something else that solves the problem.
type Comparison struct {
	TimeMS  float64 `json:"time_ms"`
	Speedup float64 `json:"speedup"` // of the winner over it
	// SpeedupCI95 is the speedup's interval, where both took turns.
	SpeedupCI95 [2]float64 `json:"speedup_ci95,omitzero"`
	// Outputs are its, compared with the winner's on the same inputs; nil: they were not.
	Outputs *final.Outputs `json:"outputs,omitempty"`
}

// inTurns tells whether it took turns with the winner.
func (c Comparison) inTurns() bool { return c.SpeedupCI95[1] > 0 }

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
	Spent *Spent `json:"spent,omitempty"`
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
		b.Baselines = map[BaselineName]Comparison{}
	}
	b.Baselines[name] = Comparison{TimeMS: timeMS, Speedup: timeMS / b.Time.Median}
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

// SetPeaks fills in what the device reaches at most.
func (b *BestConfig) SetPeaks(peaks device.Peaks) {
	if len(peaks) == 0 {
		return
	}
	b.Roofline.Peaks = map[string]float64{}
	for kind, rate := range peaks {
		b.Roofline.Peaks[kind] = rate * 1000
	}
}

// Peak is the highest rate of arithmetic for the problem, operations a second, and what it is the
// peak of; 0 where it was not measured.
func (b BestConfig) Peak() (rate float64, of string) {
	kind := device.PeakFP32
	if strings.HasPrefix(b.Problem.Math, device.PeakTF32) {
		kind = device.PeakTF32
	}
	for _, p := range b.Problem.Parameters {
		if p.Name == "type" && (p.Value == "f16" || p.Value == "bf16") {
			kind = device.PeakFP16
		}
	}
	for _, n := range device.PeakNames {
		if n.Kind == kind {
			of = n.Name
		}
	}
	return b.Roofline.Peaks[kind], of
}

// PeaksText lists what was measured: "L2 5.60 TB/s, fp32 61.2 TFLOP/s"; "": nothing was.
func (r Roofline) PeaksText() string {
	var words []string
	for _, n := range device.PeakNames {
		if rate := r.Peaks[n.Kind]; rate > 0 && n.Kind == device.PeakL2 {
			words = append(words, n.Name+" "+formatBandwidth(rate))
		} else if rate > 0 {
			words = append(words, fmt.Sprintf("%s %s TFLOP/s", n.Name, significant(rate/1e12, 3)))
		}
	}
	return strings.Join(words, ", ")
}

// Found tells whether the search has a winner.
func (b BestConfig) Found() bool { return b.Template != "" }

// documentBound bounds what ReadBestConfig reads; documents take a few kilobytes.
var documentBound = input.Bound{Kind: "a best-config document", Bytes: 4 << 20, Values: 300_000, Depth: 32}

var (
	baselinePattern = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	digestPattern   = regexp.MustCompile(`^([0-9a-f]{16,64})?$`)
	targetPattern   = regexp.MustCompile(`^[a-z0-9_]*$`)
)

// WriteJSON writes the document, indented, with its fields always in the same
// order. It refuses one that ReadBestConfig would refuse.
func (b BestConfig) WriteJSON(w io.Writer) error {
	b = b.complete()
	return writeIndented(w, b, b.check())
}

// WriteJSONList writes the documents of several problems as a JSON list.
func WriteJSONList(w io.Writer, list []BestConfig) error {
	var err error
	documents := make([]BestConfig, len(list))
	for i, b := range list {
		documents[i] = b.complete()
		err = cmp.Or(err, documents[i].check())
	}
	return writeIndented(w, documents, err)
}

// writeIndented writes nothing if it cannot write all, or if there is a fault.
func writeIndented(w io.Writer, document any, fault error) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := cmp.Or(fault, encoder.Encode(document)); err != nil {
		return fmt.Errorf("best-config: %w", err)
	}
	_, err := text.WriteTo(w)
	return err
}

// complete fills in the schema. Missing maps and lists become empty, so that the document
// has no null. From the shared records it removes what the document says elsewhere, and
// what is not its subject.
func (b BestConfig) complete() BestConfig {
	b.Schema = Schema
	b.RecordedAt = b.RecordedAt.UTC()
	b.Problem.Operator, b.Problem.Bytes, b.Problem.Flops = "", 0, 0
	b.Device = device.Info{Name: b.Device.Name, Kind: b.Device.Kind, Driver: b.Device.Driver, Compiler: b.Device.Compiler}
	b.Time = essential(b.Time)
	b.Ties = slices.Clone(b.Ties)
	for i := range b.Ties {
		b.Ties[i].Time = essential(b.Ties[i].Time)
	}
	if b.Macros == nil {
		b.Macros = map[string]string{}
	}
	if b.Baselines == nil {
		b.Baselines = map[BaselineName]Comparison{}
	}
	if b.Trials.ByStatus == nil {
		b.Trials.ByStatus = map[trial.Status]int{}
	}
	if b.Warnings == nil {
		b.Warnings = []string{}
	}
	return b
}

// ReadBestConfig reads a document. It is strict: an unknown field, a missing one
// that must be there or a number that cannot be is an error that names it.
func ReadBestConfig(r io.Reader) (BestConfig, error) {
	b, err := readBestConfig(r)
	if err != nil {
		return BestConfig{}, fmt.Errorf("best-config: %w", err)
	}
	return b, nil
}

// ReadBestConfigs reads a document, or a list of them as WriteJSONList writes it.
func ReadBestConfigs(r io.Reader) ([]BestConfig, error) {
	data, err := readDocument(r)
	if err != nil {
		return nil, fmt.Errorf("best-config: %w", err)
	}
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		b, err := ReadBestConfig(bytes.NewReader(data))
		return []BestConfig{b}, err
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil {
		return nil, fmt.Errorf("best-config: %w", jsonerror.Describe(err, data, 0))
	}
	var list []BestConfig
	for i, part := range parts {
		b, err := ReadBestConfig(bytes.NewReader(part))
		if err != nil {
			return nil, fmt.Errorf("document %d of the list: %w", i+1, err)
		}
		list = append(list, b)
	}
	return list, nil
}

func readDocument(r io.Reader) ([]byte, error) {
	data, err := documentBound.Read(r)
	if err == nil {
		err = documentBound.JSON(data)
	}
	return data, err
}

func readBestConfig(r io.Reader) (BestConfig, error) {
	data, err := readDocument(r)
	if err != nil {
		return BestConfig{}, err
	}
	if err := checkSchema(data); err != nil {
		return BestConfig{}, err
	}
	var b BestConfig
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := jsonobject.Exact(data, &b); err != nil {
		return BestConfig{}, err
	}
	if err := decoder.Decode(&b); err != nil {
		return BestConfig{}, jsonerror.Describe(err, data, decoder.InputOffset())
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return BestConfig{}, fmt.Errorf("%s: there is more after the end of the document", jsonerror.Place(data, decoder.InputOffset()))
	}
	return b.complete(), b.check()
}

// checkSchema looks at the schema alone: a document of another version would
// otherwise be refused for one of its fields.
func checkSchema(data []byte) error {
	var head struct {
		Schema *string `json:"schema"`
	}
	switch err := json.Unmarshal(data, &head); {
	case len(bytes.TrimSpace(data)) == 0:
		return errors.New("the document is empty")
	case err != nil:
		return jsonerror.Describe(err, data, 0)
	case head.Schema == nil:
		return fmt.Errorf("it has no schema; a document begins with \"schema\": %q", Schema)
	case *head.Schema != Schema:
		return fmt.Errorf("its schema is %q; this version reads %q", *head.Schema, Schema)
	}
	return nil
}

// essential is what a document says of a time.
func essential(t trial.Timing) trial.Timing {
	return trial.Timing{Median: t.Median, CI95: t.CI95, Samples: t.Samples}
}

// check checks the contents; the errors begin with the field's name.
func (b BestConfig) check() error {
	switch {
	case b.Operator == "":
		return errors.New("operator is missing")
	case len(b.Problem.Shape) == 0:
		return errors.New("problem.shape is missing")
	case b.Device.Name == "":
		return errors.New("device.name is missing")
	case b.Device.Kind.Properties().Kind == "":
		return fmt.Errorf("device.kind is %q, want one of %s", b.Device.Kind, device.KindNames())
	case b.Device.Kind.Properties().Compiles == (b.Recording != nil):
		return errors.New("recording must be there for a replay, and only then")
	case b.Template == "":
		return errors.New("template is missing: the search found no valid variant")
	case b.RecordedAt.IsZero():
		return errors.New("recorded_at is missing")
	case b.Conditions.Check() != nil:
		return fmt.Errorf("conditions: %w", b.Conditions.Check())
	case !targetPattern.MatchString(b.Target):
		return fmt.Errorf("target is %q, want an architecture as sm_90a", b.Target)
	case !digestPattern.MatchString(b.KernelDigest):
		return fmt.Errorf("kernel_digest is %q, want 16 to 64 hexadecimal digits", b.KernelDigest)
	case !digestPattern.MatchString(b.ReferenceDigest):
		return fmt.Errorf("reference_digest is %q, want 16 to 64 hexadecimal digits", b.ReferenceDigest)
	}
	// A winner that is told of as it was recorded has neither macros nor launches.
	if len(b.Launches) == 0 && len(b.Macros) > 0 || slices.Contains(b.Launches.Entries(), "") {
		return errors.New("launch.entry is missing")
	}
	for _, dim := range b.Problem.Shape {
		if dim < 1 {
			return fmt.Errorf("problem.shape holds %d, want 1 or more", dim)
		}
	}
	return errors.Join(b.checkNumbers(), checkTrials(b.Trials))
}

func (b BestConfig) checkNumbers() error {
	for _, c := range []struct {
		name  string
		value float64
	}{
		{"time_ms.ci95", b.Time.CI95[0]},
		{"time_ms.ci95", b.Time.CI95[1]},
		{"roofline.copy_bandwidth", b.Roofline.CopyBandwidth},
		{"roofline.floor_ms", b.Roofline.FloorMS},
		{"roofline.share", b.Roofline.Share},
		{"copy_bandwidth_share", b.CopyBandwidthShare},
		{"max_abs_error", b.MaxAbsError},
		{"search.seconds", b.Search.Seconds},
	} {
		if !(c.value >= 0) || math.IsInf(c.value, 0) {
			return fmt.Errorf("%s is %v, want a finite number, 0 or more", c.name, c.value)
		}
	}
	if o := b.Search.Outlook; o != nil && !(o.Chance >= 0 && o.Chance <= 1 && o.Target > 1) {
		return fmt.Errorf("search.outlook is %+v, want a target above 1 and a chance from 0 to 1", *o)
	}
	if !positive(b.Time.Median) {
		return fmt.Errorf("time_ms.median is %v, want a time above 0", b.Time.Median)
	}
	if b.Time.CI95[0] > b.Time.CI95[1] {
		return fmt.Errorf("time_ms.ci95 is [%v, %v], want the lower bound first", b.Time.CI95[0], b.Time.CI95[1])
	}
	for name, base := range b.Baselines {
		if !baselinePattern.MatchString(string(name)) {
			return fmt.Errorf("baselines: %q is no name; want lower case, as torch_eager", name)
		}
		if !positive(base.TimeMS) || !positive(base.Speedup) {
			return fmt.Errorf("baselines.%s: time_ms and speedup are %v and %v, want numbers above 0", name, base.TimeMS, base.Speedup)
		}
		if base.SpeedupCI95[0] > base.SpeedupCI95[1] {
			return fmt.Errorf("baselines.%s.speedup_ci95 is [%v, %v], want the lower bound first", name, base.SpeedupCI95[0], base.SpeedupCI95[1])
		}
	}
	return nil
}

func checkTrials(counts tuner.Counts) error {
	sum := 0
	for status, n := range counts.ByStatus {
		if !slices.Contains(trial.Statuses, status) {
			return fmt.Errorf("trials.by_status.%s: want one of %s", status, strings.Trim(fmt.Sprint(trial.Statuses), "[]"))
		}
		if n < 0 {
			return fmt.Errorf("trials.by_status.%s is %d, want 0 or more", status, n)
		}
		sum += n
	}
	if sum != counts.Total {
		return fmt.Errorf("trials.total is %d, but by_status adds up to %d", counts.Total, sum)
	}
	return nil
}

func positive(x float64) bool { return x > 0 && !math.IsInf(x, 0) }
