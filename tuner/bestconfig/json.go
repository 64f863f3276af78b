package bestconfig

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

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/input"
	"autotune/internal/jsonerror"
	"autotune/internal/jsonobject"
	"autotune/tuner"
)

// documentBound limits the size of a document that is read; usual documents take a few kilobytes.
var documentBound = input.Bound{Kind: "a best-config document", Bytes: 4 << 20, Values: 300_000, Depth: 32}

// WriteJSON writes the document, indented, with its fields always in the same order. WriteJSON returns an error for a
// document that Read would refuse.
func (d Document) WriteJSON(w io.Writer) error {
	d = d.complete()
	return writeIndented(w, d, d.check())
}

func WriteJSONList(w io.Writer, list []Document) (err error) {
	documents := make([]Document, len(list))
	for i, d := range list {
		documents[i] = d.complete()
		err = cmp.Or(err, documents[i].check())
	}
	return writeIndented(w, documents, err)
}

// writeIndented writes v as indented JSON; it writes nothing and returns an error if `fault` is not nil or if encoding
// fails.
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

// complete fills in the schema and makes missing maps and lists empty, so that the JSON has no null. The method
// complete also clears fields of shared types that a document stores elsewhere or not at all.
func (d Document) complete() Document {
	d.Schema = Schema
	d.RecordedAt = d.RecordedAt.UTC()
	d.Problem.Operator, d.Problem.Bytes, d.Problem.Flops = "", 0, 0
	d.Device = device.Info{Name: d.Device.Name, Kind: d.Device.Kind, Driver: d.Device.Driver, Compiler: d.Device.Compiler}
	d.Time = essential(d.Time)
	d.Ties = slices.Clone(d.Ties)
	for i := range d.Ties {
		d.Ties[i].Time = essential(d.Ties[i].Time)
	}
	d.Baselines = maps.Clone(d.Baselines)
	if d.Baselines == nil {
		d.Baselines = map[string]tuner.Baseline{}
	}
	for name, b := range d.Baselines {
		b.Name = ""
		d.Baselines[name] = b
	}
	if d.Macros == nil {
		d.Macros = map[string]string{}
	}
	if d.Trials.ByStatus == nil {
		d.Trials.ByStatus = map[trial.Status]int{}
	}
	if d.Warnings == nil {
		d.Warnings = []string{}
	}
	return d
}

// essential returns a time with only those fields that a document stores: the median, its confidence interval and the
// number of samples.
func essential(t trial.Timing) trial.Timing {
	return trial.Timing{Median: t.Median, CI95: t.CI95, Samples: t.Samples}
}

// Read reads a document strictly: for an unknown field, a missing required field or an impossible number, it returns
// an error that names the field.
func Read(r io.Reader) (d Document, err error) {
	data, err := readBounded(r)
	if err == nil {
		d, err = parse(data)
	}
	return d, err
}

// ReadAll reads one document, or a JSON list of documents as WriteJSONList writes it.
func ReadAll(r io.Reader) ([]Document, error) {
	data, err := readBounded(r)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		d, err := parse(data)
		return []Document{d}, err
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil {
		return nil, fmt.Errorf("best-config: %w", jsonerror.Describe(err, data, 0))
	}
	list := make([]Document, len(parts))
	for i, part := range parts {
		if list[i], err = parse(part); err != nil {
			return nil, fmt.Errorf("document %d of the list: %w", i+1, err)
		}
	}
	return list, nil
}

func readBounded(r io.Reader) ([]byte, error) {
	data, err := documentBound.Read(r)
	if err == nil {
		err = documentBound.JSON(data)
	}
	if err != nil {
		return nil, fmt.Errorf("best-config: %w", err)
	}
	return data, nil
}

func parse(data []byte) (d Document, err error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err = cmp.Or(checkSchema(data), jsonobject.Exact(data, &d)); err == nil {
		if err = decoder.Decode(&d); err != nil {
			err = jsonerror.Describe(err, data, decoder.InputOffset())
		}
	}
	if d = d.complete(); err == nil {
		err = d.check()
	}
	if err != nil {
		return Document{}, fmt.Errorf("best-config: %w", err)
	}
	return d, nil
}

// checkSchema checks the schema before any other field, so that a document of another version is refused for its
// version.
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

var (
	baselinePattern = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	digestPattern   = regexp.MustCompile(`^([0-9a-f]{16,64})?$`)
	targetPattern   = regexp.MustCompile(`^[a-z0-9_]*$`)
)

// check checks the document's contents, and begins each error with the name of the field.
func (d Document) check() error {
	can := d.Device.Kind.Properties()
	switch {
	case d.Operator == "":
		return errors.New("operator is missing")
	case len(d.Problem.Shape) == 0:
		return errors.New("problem.shape is missing")
	case d.Device.Name == "":
		return errors.New("device.name is missing")
	case can.Kind == "":
		return fmt.Errorf("device.kind is %q, want one of %s", d.Device.Kind, device.KindNames())
	case can.Compiles == (d.Recording != nil):
		return errors.New("recording must be there for a replay, and only then")
	case d.Template == "":
		return errors.New("template is missing: the search found no valid variant")
	case d.RecordedAt.IsZero():
		return errors.New("recorded_at is missing")
	case d.Conditions.Check() != nil:
		return fmt.Errorf("conditions: %w", d.Conditions.Check())
	case !targetPattern.MatchString(d.Target):
		return fmt.Errorf("target is %q, want an architecture as sm_90a", d.Target)
	case !digestPattern.MatchString(d.KernelDigest):
		return fmt.Errorf("kernel_digest is %q, want 16 to 64 hexadecimal digits", d.KernelDigest)
	case !digestPattern.MatchString(d.ReferenceDigest):
		return fmt.Errorf("reference_digest is %q, want 16 to 64 hexadecimal digits", d.ReferenceDigest)
	// The winner of a document made by FromRecording has neither macros nor launches.
	case len(d.Launches) == 0 && len(d.Macros) > 0 || slices.Contains(d.Launches.Entries(), ""):
		return errors.New("launch.entry is missing")
	case slices.Min(d.Problem.Shape) < 1:
		return fmt.Errorf("problem.shape holds %d, want 1 or more", slices.Min(d.Problem.Shape))
	}
	return errors.Join(d.checkNumbers(), d.checkBaselines(), checkTrials(d.Trials))
}

func (d Document) checkNumbers() error {
	for name, value := range map[string]float64{
		"time_ms.ci95": d.Time.CI95[0], "roofline.copy_bandwidth": d.Roofline.CopyBandwidth,
		"roofline.floor_ms": d.Roofline.FloorMS, "roofline.share": d.Roofline.Share,
		"copy_bandwidth_share": d.CopyBandwidthShare, "max_abs_error": d.MaxAbsError, "search.seconds": d.Search.Seconds,
	} {
		if !(value >= 0) || math.IsInf(value, 0) {
			return fmt.Errorf("%s is %v, want a finite number, 0 or more", name, value)
		}
	}
	if o := d.Search.Outlook; o != nil && !(o.Chance >= 0 && o.Chance <= 1 && o.Target > 1) {
		return fmt.Errorf("search.outlook is %+v, want a target above 1 and a chance from 0 to 1", *o)
	}
	if !positive(d.Time.Median) {
		return fmt.Errorf("time_ms.median is %v, want a time above 0", d.Time.Median)
	}
	return checkInterval("time_ms.ci95", d.Time.CI95)
}

func (d Document) checkBaselines() error {
	for name, b := range d.Baselines {
		if !baselinePattern.MatchString(name) {
			return fmt.Errorf("baselines: %q is no name; want lower case, as torch_eager", name)
		}
		if !positive(b.TimeMS) || !positive(b.Speedup) {
			return fmt.Errorf("baselines.%s: time_ms and speedup are %v and %v, want numbers above 0", name, b.TimeMS, b.Speedup)
		}
		if err := checkInterval("baselines."+name+".speedup_ci95", b.CI95); err != nil {
			return err
		}
	}
	return nil
}

func checkInterval(name string, x [2]float64) error {
	if !(x[0] <= x[1]) || math.IsInf(x[1], 0) {
		return fmt.Errorf("%s is [%v, %v], want two finite numbers, the lower one first", name, x[0], x[1])
	}
	return nil
}

func checkTrials(counts tuner.Counts) error {
	sum := 0
	for status, n := range counts.ByStatus {
		if sum += n; n < 0 || !slices.Contains(trial.Statuses, status) {
			return fmt.Errorf("trials.by_status.%s is %d, want 0 or more of one of %s", status, n, trial.Statuses)
		}
	}
	if sum != counts.Total {
		return fmt.Errorf("trials.total is %d, but by_status adds up to %d", counts.Total, sum)
	}
	return nil
}

func positive(x float64) bool { return x > 0 && !math.IsInf(x, 0) }
