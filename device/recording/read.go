package recording

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"

	"autotune/internal/input"
	"autotune/internal/jsonerror"
)

func Load(ctx context.Context, path string) (*Recording, error)    { return open(ctx, path, decode) }
func LoadAny(ctx context.Context, path string) (*Recording, error) { return open(ctx, path, ReadAny) }

// LoadFS reads one of our own recordings from a file system, for example from the shipped ones.
func LoadFS(fsys fs.FS, name string) (*Recording, error) {
	r, err := readFS(fsys, name, decode)
	return r.named(name), err
}

func readFS[T any](fsys fs.FS, name string, read func(io.Reader) (T, error)) (made T, err error) {
	f, err := fsys.Open(name)
	if err != nil {
		return made, fmt.Errorf("cannot read the recording: %w", err)
	}
	defer f.Close()
	if made, err = read(f); err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return made, err
}

func open(ctx context.Context, path string, read func(io.Reader) (*Recording, error)) (*Recording, error) {
	r, err := input.File(ctx, path, read)
	return r.named(path), err
}

func (r *Recording) named(file string) *Recording {
	if r != nil {
		r.File = file
	}
	return r
}

// document is the parsed JSON of a recording in any of the supported formats.
type document struct {
	SchemaVersion string          `json:"schema_version"`
	Metadata      json.RawMessage `json:"metadata"`
	Results       []result        `json:"results"`
	cache
}

// decode reads a recording in our own format.
func decode(r io.Reader) (*Recording, error) {
	data, err := unpack(r)
	if err != nil {
		return nil, err
	}
	d, err := parse(data)
	var m *Metadata
	if err == nil {
		if err = json.Unmarshal(orNull(d.Metadata), &m); err != nil {
			err = fmt.Errorf("metadata: %w", jsonerror.Part(err, data, d.Metadata))
		}
	}
	if err != nil {
		return nil, err
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

// ReadAny reads a recording in our own format, a T4 file of another tool, or a cache of Kernel Tuner, compressed or
// not.
func ReadAny(r io.Reader) (*Recording, error) {
	data, err := unpack(r)
	if err != nil {
		return nil, err
	}
	d, err := parse(nullNonNumbers(data))
	switch {
	case err != nil:
		return nil, err
	case d.Rows != nil || d.Tunables != nil:
		return d.recording()
	case d.Results == nil && d.SchemaVersion == "":
		return nil, errors.New(`neither a Kernel Tuner cache (it has no "cache") nor T4 results (it has no "results")`)
	}
	recording := new(Recording)
	// Metadata that other tools wrote may have another structure and is only displayed, so an error in parsing the
	// metadata is ignored.
	_ = json.Unmarshal(orNull(d.Metadata), &recording.Metadata)
	return recording, recording.add(d.Results)
}

// parse parses a document, and its errors name the faulty line.
func parse(data []byte) (d document, err error) {
	if len(data) == 0 {
		return d, errors.New("the file is empty: it does not begin with a JSON object")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&d); err != nil {
		return d, jsonerror.Describe(err, data, decoder.InputOffset())
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return d, fmt.Errorf("there is more after the end of the recording, at byte %d", decoder.InputOffset())
	}
	return d, nil
}

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

// readMetadata reads the metadata of a recording in our own format and skips the results.
func readMetadata(r io.Reader) (Metadata, error) {
	var d struct {
		SchemaVersion string    `json:"schema_version"`
		Metadata      *Metadata `json:"metadata"`
	}
	data, err := unpack(r)
	if err == nil {
		err = damaged(json.Unmarshal(data, &d))
	}
	if err == nil {
		err = checkHeader(d.SchemaVersion, d.Metadata)
	}
	if err != nil {
		return Metadata{}, err
	}
	return *d.Metadata, nil
}

// recordingBound limits the size of a recording. The limits on a recording are above the sizes of a search's own
// recordings and of the exhaustive recordings that other tools publish.
var recordingBound = input.Bound{Kind: "a recording", Bytes: 32 << 20, Values: 3_000_000, Depth: 32, Items: 100_000}

// unpack reads a file to its end. If the file ends early, unpack returns the data before that point together with
// the error.
func unpack(r io.Reader) ([]byte, error) {
	data, err := recordingBound.Unpack(r)
	if err == nil {
		err = recordingBound.JSON(data)
	}
	return data, damaged(err)
}

// damaged wraps the error of a file that is cut off or was changed.
func damaged(err error) error {
	var tooMuch *input.TooMuchError
	if err == nil || errors.As(err, &tooMuch) {
		return err
	}
	return fmt.Errorf("the file is damaged or cut short: %w", err)
}

// nonNumbers matches JSON strings, and the words that Python writes for floats that JSON cannot represent.
var nonNumbers = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?Infinity|NaN`)

// nullNonNumbers replaces Python's NaN and Infinity by null, except inside strings.
func nullNonNumbers(data []byte) []byte {
	if !bytes.Contains(data, []byte("Infinity")) && !bytes.Contains(data, []byte("NaN")) {
		return data
	}
	return nonNumbers.ReplaceAllFunc(data, func(found []byte) []byte {
		if found[0] == '"' {
			return found
		}
		return []byte("null")
	})
}

// Is reports whether a regular file begins as recordings do: compressed, or with one of a recording's keys.
func Is(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 1<<10)
	n, _ := io.ReadFull(f, head)
	return beginning.Match(head[:n])
}

var beginning = regexp.MustCompile(`^(\x1f|\s*\{\s*"(schema_version|metadata|results)"\s*:)`)
