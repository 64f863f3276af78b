package recording

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"autotune/internal/output"
	"autotune/tuner/device"
)

// Write stores a recording at path, compressed if path ends in ".gz". What Load
// would refuse is refused here already, before anything is written.
func Write(path string, r Recording) error {
	if m := r.Metadata; m.Device.Kind == device.Replay {
		return fmt.Errorf("recording for %s: a replay measures nothing that could be recorded; copy %s instead", path, m.Device.Recording)
	}
	return output.To(path, func(w io.Writer) error { return encode(w, r, strings.HasSuffix(path, ".gz")) })
}

// encode checks a recording and writes its file.
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
	// The header holds neither name nor time, so that equal recordings are equal files.
	zip, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	_, err = zip.Write(text)
	return errors.Join(err, zip.Close())
}

// marshal puts the metadata first, so that a reader who wants only that can
// stop there. Then comes one result a line, for people with grep and diff.
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
		SchemaVersion, metadata, bytes.Join(lines, []byte(",\n"))), nil
}
