package recording

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/output"
)

// Write stores a recording at path, compressed if path ends in ".gz". Write returns an error, before it writes
// anything, for a recording that Load would not accept.
func Write(path string, r Recording) error {
	if m := r.Metadata; m.Device.Kind == device.Replay {
		return fmt.Errorf("recording for %s: a replay measures nothing that could be recorded; copy %s instead", path, m.Device.Recording)
	}
	return output.To(path, func(w io.Writer) error { return encode(w, r, strings.HasSuffix(path, ".gz")) })
}

func encode(w io.Writer, r Recording, compressed bool) error {
	r.Metadata.TimeUnit, r.Metadata.Format = TimeUnit, Format
	r.Metadata.RecordedAt = r.Metadata.RecordedAt.UTC()
	results := make([]result, len(r.Trials))
	for i, t := range r.Trials {
		var err error
		if results[i], err = newResult(t); err != nil {
			return fmt.Errorf("results[%d]: %w", i, err)
		}
	}
	if err := r.check(results); err != nil {
		return err
	}
	text, err := marshal(r.Metadata, results)
	if err != nil {
		return err
	}
	if !compressed {
		_, err := w.Write(text)
		return err
	}
	// The gzip header contains no name and no time, so that equal recordings are equal files.
	zip, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	_, err = zip.Write(text)
	return errors.Join(err, zip.Close())
}

// marshal writes the metadata first, so that a reader who wants only the metadata can stop there. The results of the
// trials follow the metadata, one per line, so that grep and diff are useful on the file.
func marshal(m Metadata, results []result) ([]byte, error) {
	metadata, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	lines := make([][]byte, len(results))
	for i, result := range results {
		if lines[i], err = json.Marshal(result); err != nil {
			return nil, fmt.Errorf("results[%d]: %w", i, err)
		}
	}
	return fmt.Appendf(nil, "{\"schema_version\":%q,\n\"metadata\":%s,\n\"results\":[\n%s\n]}\n",
		schemaVersion, metadata, bytes.Join(lines, []byte(",\n"))), nil
}

var digestPattern = regexp.MustCompile(`^[0-9a-f]{16,64}$`)

// checkHeader checks the version and the format, without which the rest of a recording cannot be interpreted.
func checkHeader(version string, m *Metadata) error {
	switch {
	case version == "":
		return errors.New("not a T4 recording: it has no schema_version")
	case !strings.HasPrefix(version, "1."):
		return fmt.Errorf("its schema_version is %q; this version reads 1.x", version)
	case m == nil:
		return errors.New("it has no metadata, which says what problem was recorded on what device")
	case m.Format == "":
		return fmt.Errorf("metadata.format is missing: a T4 file of another tool does not say enough to be replayed (want %q)", Format)
	case m.Format != Format:
		return fmt.Errorf("metadata.format is %q; this version reads %q", m.Format, Format)
	}
	return nil
}

// check validates a recording before Write stores it and after Load has read it; an error names the field.
func (r *Recording) check(results []result) error {
	m := r.Metadata
	switch {
	case m.TimeUnit != TimeUnit:
		return fmt.Errorf("metadata.timeunit is %q, want %q", m.TimeUnit, TimeUnit)
	case m.Problem.Operator == "":
		return errors.New("metadata.operator is missing")
	case m.Problem.Text == "":
		return errors.New("metadata.problem is missing")
	case len(m.Problem.Shape) == 0:
		return errors.New("metadata.shape is missing")
	case m.Problem.Contradiction() != "":
		return fmt.Errorf("metadata contradicts itself: problem is %q, but operator, shape, parameters and math make %q",
			m.Problem.Text, m.Problem.Contradiction())
	case m.Device.Name == "":
		return errors.New("metadata.device.name is missing")
	case m.RecordedAt.IsZero():
		return errors.New("metadata.recorded_at is missing")
	case m.Protocol.Conditions.Check() != nil:
		return fmt.Errorf("metadata.protocol.conditions: %w", m.Protocol.Conditions.Check())
	case len(results) == 0:
		return errors.New("it holds no results")
	}
	seen := make(map[string]int, len(results))
	for i, result := range results {
		t := r.Trials[i]
		if err := result.check(t); err != nil {
			return fmt.Errorf("results[%d].%w", i, err)
		}
		key := Key(t.Configuration)
		if earlier, found := seen[key]; found {
			return fmt.Errorf("results[%d] and results[%d] have the same configuration", earlier, i)
		}
		seen[key] = i
	}
	return nil
}

// check validates one result, which belongs to trial t. The text of check's error begins with the name of a field, and
// the caller puts "results[i]." in front of it.
func (r result) check(t trial.Trial) error {
	status := t.Status
	want, known := invalidities[status]
	switch {
	case t.Template == "":
		return errors.New("configuration.template is missing or no string")
	case !known && status == "":
		return fmt.Errorf("invalidity is %q, want one of %s", r.Invalidity, strings.Join(slices.Compact(slices.Sorted(maps.Values(invalidities))), ", "))
	case !known:
		return fmt.Errorf("autotune.status: %q is no status", status)
	case r.Invalidity != want:
		return fmt.Errorf("invalidity is %q, but the status %s means %q", r.Invalidity, status, want)
	case r.Extra.Digest != "" && !digestPattern.MatchString(r.Extra.Digest):
		return fmt.Errorf("autotune.digest: %q is not 16 to 64 hexadecimal digits", r.Extra.Digest)
	case status == trial.OK && len(r.Times.Runtimes) == 0:
		return errors.New("times.runtimes is empty, but the status is ok")
	case r.Extra.Batch < 0:
		return fmt.Errorf("autotune.batch is %d, want 0 or more", r.Extra.Batch)
	}
	for i, ms := range r.Times.Runtimes {
		if err := trial.CheckMS(ms); err != nil {
			return fmt.Errorf("times.runtimes[%d]: %w", i, err)
		}
	}
	if status != trial.OK {
		return nil
	}
	if err := trial.CheckMS(t.Time.Median); err != nil {
		return fmt.Errorf("measurements: %s: %w", objective, err)
	}
	return nil
}
