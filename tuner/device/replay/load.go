package replay

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"autotune/internal/jsonerror"
	"autotune/space/expr"
)

// What a recording may unfold to at most, far above what a search writes: a
// small file must not fill the memory.
const (
	maxRecording = 256 << 20
	maxMetadata  = 256 << 10
)

// Load reads a recording, compressed or not.
func Load(path string) (*Recording, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the recording: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("cannot read the recording: %s is a folder; name a file", path)
	}
	return read(f, path)
}

// LoadFS reads a recording of a file system, as the shipped ones are.
func LoadFS(fsys fs.FS, name string) (*Recording, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("cannot read the recording: %w", err)
	}
	defer f.Close()
	return read(f, name)
}

// read reads a recording; its errors begin with the file's name.
func read(r io.Reader, name string) (*Recording, error) {
	recording, err := decode(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	recording.File = name
	return recording, nil
}

func decode(r io.Reader) (*Recording, error) {
	plain, err := decompress(r, maxRecording)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(plain)
	if err != nil {
		return nil, damaged(err)
	}
	var file struct {
		SchemaVersion string    `json:"schema_version"`
		Metadata      *Metadata `json:"metadata"`
		Results       []Result  `json:"results"`
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&file); err != nil {
		return nil, jsonerror.Describe(err, data, decoder.InputOffset())
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("there is more after the end of the recording, at byte %d", decoder.InputOffset())
	}
	if err := checkHeader(file.SchemaVersion, file.Metadata); err != nil {
		return nil, err
	}
	recording := &Recording{Metadata: *file.Metadata, Results: file.Results}
	if err := recording.normalise(); err != nil {
		return nil, err
	}
	return recording, recording.check()
}

// readMetadata reads no further than the metadata, which Write puts first.
func readMetadata(r io.Reader) (Metadata, error) {
	plain, err := decompress(r, maxMetadata)
	if err != nil {
		return Metadata{}, err
	}
	decoder := json.NewDecoder(plain)
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
		switch name {
		case "schema_version":
			err = decoder.Decode(&version)
		case "metadata":
			if err = decoder.Decode(&metadata); err == nil {
				return *orEmpty(metadata), checkHeader(version, metadata)
			}
		default:
			var skipped json.RawMessage
			err = decoder.Decode(&skipped)
		}
		if err != nil {
			return Metadata{}, damaged(err)
		}
	}
	return Metadata{}, checkHeader(version, nil)
}

func orEmpty(m *Metadata) *Metadata {
	if m == nil {
		return &Metadata{}
	}
	return m
}

// decompress sees by its first bytes whether a file is compressed, and gives no
// more than limit bytes of what is in it.
func decompress(r io.Reader, limit int64) (io.Reader, error) {
	buffered := bufio.NewReader(r)
	head, err := buffered.Peek(2)
	if errors.Is(err, io.EOF) && len(head) == 0 {
		return nil, errors.New("the file is empty")
	}
	if !bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return &bounded{r: buffered, left: limit}, nil
	}
	zip, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, damaged(err)
	}
	return &bounded{r: zip, left: limit}, nil
}

var errTooLarge = errors.New("it unfolds to more than any recording does")

// bounded fails, rather than ends, where its bytes are used up.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.r.Read(p)
	b.left -= int64(n)
	return n, err
}

func damaged(err error) error {
	if errors.Is(err, errTooLarge) {
		return err
	}
	return fmt.Errorf("the file is damaged or cut short: %w", err)
}

// normalise makes int64s and float64s of the configurations' numbers, and
// derives the status where only T4's invalidity is given.
func (r *Recording) normalise() error {
	for i := range r.Results {
		result := &r.Results[i]
		for name, x := range result.Configuration {
			value, err := expr.FromGo(x)
			if err != nil {
				return fmt.Errorf("results[%d].configuration.%s: a value is a number, a bool or a string: %w", i, name, err)
			}
			result.Configuration[name] = value.Go()
		}
		if result.Extra.Status == "" {
			result.Extra.Status = statusOf(result.Invalidity)
		}
	}
	return nil
}
