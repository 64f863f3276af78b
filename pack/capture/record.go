package capture

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"autotune/internal/input"
	"autotune/internal/jsonerror"
	"autotune/internal/jsonobject"
	"autotune/internal/output"
)

const recordSchema = "autotune/capture/1"

// record is the content of the file that the watching Python code writes about one process.
type record struct {
	Schema   string `json:"schema"`
	Torch    string `json:"torch"`
	GPU      string `json:"gpu"`      // its name, "" if no GPU was used
	Whole    bool   `json:"whole"`    // the process ended normally
	Fault    string `json:"fault"`    // why the watching ended early
	Compiled int64  `json:"compiled"` // number of torch.compile graphs
	Captured int64  `json:"captured"` // number of calls inside CUDA graphs
	Calls    []call `json:"calls"`
}

// call sums up all calls of one PyTorch function with the same arguments.
type call struct {
	Function   string               `json:"function"`
	Device     string               `json:"device"` // "cuda", "cpu"
	Calls      int64                `json:"calls"`
	MS         float64              `json:"ms"`   // total of all calls
	TF32       *bool                `json:"tf32"` // whether PyTorch may round to TF32; nil if unknown
	Arguments  string               `json:"arguments"`
	Why        string               `json:"why"` // why no operator serves the call
	Operator   string               `json:"operator"`
	Shape      []int64              `json:"shape"`
	Parameters map[string][]setting `json:"parameters"` // each is a list of components
}

// setting is one component of a problem's parameter, a number or a word.
type setting string

// UnmarshalJSON accepts a number, a boolean or a string.
func (s *setting) UnmarshalJSON(data []byte) error {
	var number float64
	var truth bool
	switch {
	case json.Unmarshal(data, &truth) == nil, json.Unmarshal(data, &number) == nil:
		*s = setting(data)
		return nil
	}
	return json.Unmarshal(data, (*string)(s))
}

// mostCalls and the other limits bound the size of a record; the records of real programs are far smaller.
const (
	mostCalls   = 1 << 14
	mostRecords = 1 << 16
	mostInAll   = 1 << 20 // calls of all records
	mostCount   = 1 << 50
)

var recordBound = input.Bound{Kind: "a record", Bytes: 32 << 20, Values: 4 << 20, Depth: 8, Items: mostCalls}

// readRecord reads a record and checks it, since any program may have written to the file.
func readRecord(r io.Reader) (*record, error) {
	data, err := recordBound.Read(r)
	if err == nil {
		err = recordBound.JSON(data)
	}
	made := &record{}
	if err == nil {
		err = jsonobject.Exact(data, made)
	}
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(made); err != nil {
		return nil, jsonerror.Describe(err, data, decoder.InputOffset())
	}
	return made, made.check()
}

func (r *record) check() error {
	if r.Schema != recordSchema {
		return fmt.Errorf("its schema is %.40q; want %q", r.Schema, recordSchema)
	}
	for _, n := range []int64{r.Compiled, r.Captured} {
		if n < 0 || n > mostCount {
			return fmt.Errorf("%d is no number of calls", n)
		}
	}
	for i := range r.Calls {
		c := &r.Calls[i]
		if c.Calls < 1 || c.Calls > mostCount {
			return fmt.Errorf("call %d: %d is no number of calls", i+1, c.Calls)
		}
		if !(c.MS >= 0 && c.MS < math.MaxInt64) {
			return fmt.Errorf("%v is no time in milliseconds", c.MS)
		}
		for _, text := range []*string{&c.Function, &c.Arguments, &c.Why} {
			*text = brief(*text)
		}
	}
	r.Torch, r.GPU, r.Fault = brief(r.Torch), brief(r.GPU), brief(r.Fault)
	return nil
}

// brief shortens a text from a program to at most 200 characters on one line.
func brief(text string) string {
	const most = 200
	text = output.Line(text)
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}

// records reads the records of all processes. left is the number of records that exceed the bounds, and fault says why
// a process was not watched to its end.
func (w *Watcher) records() (all []*record, left int, fault string, err error) {
	folder := filepath.Join(w.folder.Dir, recordsFolder)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, 0, "", err
	}
	calls := 0
	for _, e := range entries {
		switch path := filepath.Join(folder, e.Name()); {
		case e.Name() == "fault" && e.Type().IsRegular():
			f, err := os.Open(path)
			if err != nil {
				return nil, 0, "", err
			}
			text, err := io.ReadAll(io.LimitReader(f, 4<<10)) // brief shortens the text further
			if err = errors.Join(err, f.Close()); err != nil {
				return nil, 0, "", err
			}
			fault = brief(string(text))
		case !strings.HasSuffix(e.Name(), ".json"):
		case !e.Type().IsRegular():
			return nil, 0, "", errors.New("a process of the program put something else in the place of its record")
		case len(all) == mostRecords, calls >= mostInAll:
			left++
		default:
			r, err := readFile(path)
			if err != nil {
				return nil, 0, "", fmt.Errorf("the record of a process cannot be used: %w", err)
			}
			all, calls = append(all, r), calls+len(r.Calls)
		}
	}
	return all, left, fault, nil
}

func readFile(path string) (*record, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readRecord(f)
}
