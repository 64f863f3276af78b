// Package recording reads and writes recordings of searches: which configurations were tried, how each evaluation
// ended, and every sample that was taken.
//
// Our own files are JSON in the T4 results format, which other autotuning tools can read, with additional keys for data
// that T4 has no place for. Recordings in our own format are usually compressed; docs/recordings.md describes the
// format. Write stores a search's trials as a recording. Load accepts only our own format, because a replay needs all
// the data of that format. ReadAny also reads recordings of interrupted searches and of other tools, in the T4 file
// format or as Kernel Tuner caches, which contain enough data to score search strategies on.
//
// List and FindRequest choose among the recordings that are shipped in the binary.
package recording

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"autotune/device"
	"autotune/device/trial"
	"autotune/operator"
	"autotune/space"
)

const (
	// schemaVersion is the version of the T4 format that recordings are written in.
	schemaVersion = "1.0.0"
	// Format names the project's extension of the T4 format, and its version.
	Format = "autotune/recording/1"
	// TimeUnit is the unit of every time in a recording.
	TimeUnit = "milliseconds"
)

// Recording is a recorded search: its metadata and its trials.
type Recording struct {
	File     string // the file that it was loaded from; not stored
	Metadata Metadata
	Trials   []trial.Trial // in the order of the search
	// Tunables are set only for Kernel Tuner's caches, which declare them.
	Tunables []space.Tunable
}

// Metadata says what was searched, where and how. Only the fields Tool and Valid, and fields that were unknown when the
// search was recorded, may be empty.
type Metadata struct {
	TimeUnit string                 `json:"timeunit"` // TimeUnit
	Format   string                 `json:"format"`   // Format
	Tool     string                 `json:"tool,omitempty"`
	Problem  operator.ProblemRecord `json:"-"` // the only problem for which a replay answers
	problemFields
	Device     device.Info     `json:"device"`
	Protocol   device.Protocol `json:"protocol"`
	Ceilings   device.Ceilings `json:"ceilings"`
	Valid      int64           `json:"valid_configurations,omitempty"` // number in the searched space
	RecordedAt time.Time       `json:"recorded_at"`
}

// problemFields is the problem as a recording stores it: as fields beside the other metadata, with the problem's text
// under "problem".
type problemFields struct {
	Operator   string              `json:"operator"`
	Text       string              `json:"problem"`
	Shape      []int64             `json:"shape"`
	Parameters operator.Parameters `json:"parameters"`
	Math       string              `json:"math"`
	Free       []string            `json:"free,omitempty"`
}

func (m Metadata) MarshalJSON() ([]byte, error) {
	type plain Metadata
	p := m.Problem
	m.problemFields = problemFields{p.Operator, p.Text, p.Shape, p.Parameters, p.Math, p.Free}
	return json.Marshal(plain(m))
}

func (m *Metadata) UnmarshalJSON(data []byte) error {
	type plain Metadata
	if err := json.Unmarshal(data, (*plain)(m)); err != nil {
		return err
	}
	f := m.problemFields
	m.Problem = operator.ProblemRecord{Operator: f.Operator, Text: f.Text, Shape: f.Shape, Parameters: f.Parameters, Math: f.Math, Free: f.Free}
	m.problemFields = problemFields{}
	return nil
}

// Origin names the recording's date, GPU and unusual conditions, for output that must not pass for a new measurement.
func (m Metadata) Origin() string {
	text := fmt.Sprintf("recording of %s on %s", m.RecordedAt.UTC().Format(time.DateOnly), m.Device.Name)
	if unusual := m.Protocol.Conditions.Unusual(); unusual != "" {
		text += ", " + unusual
	}
	return text
}

// Key returns the same text for configurations that differ only in the order of their tunables.
func Key(c space.Configuration) string {
	words := make([]string, len(c.Values))
	for i, v := range c.Values {
		words[i] = v.Name + "=" + v.Source()
	}
	slices.Sort(words)
	return c.Template + "|" + strings.Join(words, "|")
}
