package replay

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/google/renameio/v2"

	"autotune/tuner/device"
)

// Write stores a recording at path, compressed if path ends in ".gz". The file
// appears whole or not at all. What Load would refuse is refused here already.
func Write(path string, r Recording) error {
	if m := r.Metadata; m.Device.Kind == device.Replay {
		return fmt.Errorf("recording for %s: a replay measures nothing that could be recorded; copy %s instead", path, m.Device.Recording)
	}
	r = r.stamped()
	if err := r.check(); err != nil {
		return fmt.Errorf("recording for %s: %w", path, err)
	}
	var file bytes.Buffer
	if err := encode(&file, r, strings.HasSuffix(path, ".gz")); err != nil {
		return fmt.Errorf("recording for %s: %w", path, err)
	}
	if err := renameio.WriteFile(path, file.Bytes(), 0o644); err != nil {
		return fmt.Errorf("cannot write the recording: %w", err)
	}
	return nil
}

// stamped fills in what is the same in every recording of this version.
func (r Recording) stamped() Recording {
	r.Metadata.TimeUnit, r.Metadata.Format = TimeUnit, Format
	r.Metadata.RecordedAt = r.Metadata.RecordedAt.UTC()
	if r.Metadata.Parameters == nil {
		r.Metadata.Parameters = map[string]string{}
	}
	return r
}

func encode(w io.Writer, r Recording, compressed bool) error {
	if !compressed {
		return encodeJSON(w, r)
	}
	// The header holds neither name nor time, so that equal recordings are equal files.
	zip, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := encodeJSON(zip, r); err != nil {
		return err
	}
	return zip.Close()
}

// encodeJSON writes the metadata first, so that a reader which only wants that
// can stop there, and then one result a line, for people with grep and diff.
func encodeJSON(w io.Writer, r Recording) error {
	metadata, err := json.Marshal(r.Metadata)
	if err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	if _, err := fmt.Fprintf(w, "{\"schema_version\":%q,\n\"metadata\":%s,\n\"results\":[", SchemaVersion, metadata); err != nil {
		return err
	}
	separator := "\n"
	for i, result := range r.Results {
		line, err := json.Marshal(result)
		if err != nil {
			return fmt.Errorf("results[%d]: %w", i, err)
		}
		if _, err := fmt.Fprintf(w, "%s%s", separator, line); err != nil {
			return err
		}
		separator = ",\n"
	}
	_, err = io.WriteString(w, "\n]}\n")
	return err
}
