package recording

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"autotune/internal/input"
	"autotune/internal/jsonerror"
)

// Load reads a recording of ours, compressed or not.
func Load(ctx context.Context, path string) (*Recording, error) { return open(ctx, path, decode) }

// LoadAny reads what ReadAny reads.
func LoadAny(ctx context.Context, path string) (*Recording, error) { return open(ctx, path, ReadAny) }

// LoadFS reads a recording of ours from a file system, as the shipped ones are.
func LoadFS(fsys fs.FS, name string) (*Recording, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("cannot read the recording: %w", err)
	}
	defer f.Close()
	r, err := decode(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r.File = name
	return r, nil
}

func open(ctx context.Context, path string, decode func(io.Reader) (*Recording, error)) (*Recording, error) {
	r, err := input.File(ctx, path, decode)
	if err != nil {
		return nil, err
	}
	r.File = path
	return r, nil
}

// document is a file of any form.
type document struct {
	SchemaVersion string          `json:"schema_version"`
	Metadata      json.RawMessage `json:"metadata"`
	Results       []result        `json:"results"`
	cache
}

// decode reads a recording of ours.
func decode(r io.Reader) (*Recording, error) {
	data, err := unpack(r)
	if err != nil {
		return nil, err
	}
	d, err := parse(data)
	if err != nil {
		return nil, err
	}
	var m *Metadata
	if err := json.Unmarshal(orNull(d.Metadata), &m); err != nil {
		return nil, fmt.Errorf("metadata: %w", jsonerror.Part(err, data, d.Metadata))
	}
	if err := checkHeader(d.SchemaVersion, m); err != nil {
		return nil, err
	}
	recording := &Recording{Metadata: *m}
	if err := recording.add(d.Results); err != nil {
		return nil, err
	}
	return recording, recording.check(d.Results)
}

// ReadAny reads a recording of ours, T4 results of another tool or a cache of
// Kernel Tuner, compressed or not. Of a search that was interrupted it reads what
// is whole.
func ReadAny(r io.Reader) (*Recording, error) {
	data, err := unpack(r)
	cut := errors.Is(err, io.ErrUnexpectedEOF)
	if err != nil && !cut {
		return nil, err
	}
	data = nullNonNumbers(data)
	d, err := parse(data)
	if errors.As(err, new(*cutError)) {
		if mended, ok := mend(data); ok {
			cut = true
			d, err = parse(mended)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case d.isCache():
		r, err := d.recording()
		if err == nil {
			r.Interrupted = cut
		}
		return r, err
	case d.Results == nil && d.SchemaVersion == "":
		return nil, errors.New(`neither a Kernel Tuner cache (it has no "cache") nor T4 results (it has no "results")`)
	}
	recording := &Recording{Interrupted: cut}
	// Other tools' metadata may look otherwise, and is only for show.
	_ = json.Unmarshal(orNull(d.Metadata), &recording.Metadata)
	return recording, recording.add(d.Results)
}

// cutError is of a document that ends in the middle.
type cutError struct{ error }

// parse reads a document; its errors say on which line it is wrong.
func parse(data []byte) (d document, err error) {
	if len(data) == 0 {
		return d, errors.New("the file is empty: it does not begin with a JSON object")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&d); err != nil {
		described := jsonerror.Describe(err, data, decoder.InputOffset())
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return d, &cutError{described}
		}
		return d, described
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return d, fmt.Errorf("there is more after the end of the recording, at byte %d", decoder.InputOffset())
	}
	return d, nil
}

// add appends the results' trials.
func (r *Recording) add(results []result) error {
	for i, result := range results {
		t, err := result.trial()
		if err != nil {
			return fmt.Errorf("results[%d].%w", i, err)
		}
		r.Trials = append(r.Trials, t)
	}
	return nil
}

func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}

// readMetadata reads no further than the metadata, which Write puts first.
func readMetadata(r io.Reader) (Metadata, error) {
	plain, err := input.Unpacked(r)
	if err != nil {
		return Metadata{}, damaged(err)
	}
	decoder := json.NewDecoder(io.LimitReader(plain, maxMetadata))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return Metadata{}, errors.New("not a recording: it does not begin with a JSON object")
	}
	version := ""
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return Metadata{}, damaged(err)
		}
		var metadata *Metadata
		var value any = new(json.RawMessage)
		switch name {
		case "schema_version":
			value = &version
		case "metadata":
			value = &metadata
		}
		if err := decoder.Decode(value); err != nil {
			return Metadata{}, damaged(err)
		}
		if metadata != nil {
			return *metadata, checkHeader(version, metadata)
		}
	}
	return Metadata{}, checkHeader(version, nil)
}
