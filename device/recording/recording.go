// Package recording reads and writes searches that are written down trial by
// trial: what was tried, how it ended and every sample that was taken.
//
// Our own files are T4 results JSON, which other autotuning tools read, with what only we need in keys of our own,
// usually compressed; docs/recordings.md describes them. Write makes one of a search's trials. Load reads one back
// and accepts no other: a replay needs all of it. ReadAny also reads what other tools record, T4 results and Kernel
// Tuner's caches, and searches that were interrupted: enough to score strategies on.
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
	// schemaVersion is the version of T4 that recordings are written in.
	schemaVersion = "1.0.0"
	// Format names our additions to T4 and their version.
	Format = "autotune/recording/1"
	// TimeUnit is the unit of every time in a recording.
	TimeUnit = "milliseconds"
)

// Recording is a search written down.
type Recording struct {
	File     string // that it was loaded from; not stored
	Metadata Metadata
	Trials   []trial.Trial // in the order of the search
	// Tunables are declared by Kernel Tuner's caches only.
	Tunables []space.Tunable
}

// Metadata says what was searched, where and how. Only Tool, Valid and the
// fields that the recorded machine did not know may be empty.
type Metadata struct {
	TimeUnit string                 `json:"timeunit"` // TimeUnit
	Format   string                 `json:"format"`   // Format
	Tool     string                 `json:"tool,omitempty"`
	Problem  operator.ProblemRecord `json:"-"` // a replay answers for exactly this
	problemFields
	Device     device.Info     `json:"device"`
	Protocol   device.Protocol `json:"protocol"`
	Ceilings   device.Ceilings `json:"ceilings"`
	Valid      int64           `json:"valid_configurations,omitempty"` // in the space that was searched
	RecordedAt time.Time       `json:"recorded_at"`
}

// problemFields are how the file has the problem: among the other fields, and its text under "problem".
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

// Origin says in a few words what was recorded when on what, for output that
// must not be taken for a measurement made now.
func (m Metadata) Origin() string {
	text := fmt.Sprintf("recording of %s on %s", m.RecordedAt.UTC().Format(time.DateOnly), m.Device.Name)
	if unusual := m.Protocol.Conditions.Unusual(); unusual != "" {
		text += ", " + unusual
	}
	return text
}

// Key is equal for configurations that differ only in the order of their tunables.
func Key(c space.Configuration) string {
	words := make([]string, len(c.Values))
	for i, v := range c.Values {
		words[i] = v.Name + "=" + v.Source()
	}
	slices.Sort(words)
	return c.Template + "|" + strings.Join(words, "|")
}
