package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"autotune/internal/jsonobject"
	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/trial"
)

// cache is a cache of Kernel Tuner.
type cache struct {
	Device   string                  `json:"device_name"`
	Kernel   string                  `json:"kernel_name"`
	Size     json.RawMessage         `json:"problem_size"` // a number, a list of them, or what Python made of something else
	Tunables []string                `json:"tune_params_keys"`
	Values   map[string][]expr.Value `json:"tune_params"`
	Rows     *cacheRows              `json:"cache"`
}

// cacheRows are the rows in the file's order.
type cacheRows []cacheRow

// cacheRow is one configuration. Its fields beside the times are only read if
// its key does not tell the values.
type cacheRow struct {
	key    string
	fields json.RawMessage
	Time   json.RawMessage `json:"time"`
	Error  json.RawMessage `json:"__error__"`
	Times  json.RawMessage `json:"times"` // of each launch
	At     string          `json:"timestamp"`
	// In milliseconds; null for what did not happen.
	Compile   float64 `json:"compile_time"`
	Verify    float64 `json:"verification_time"`
	Benchmark float64 `json:"benchmark_time"`
}

// UnmarshalJSON reads an object of rows.
func (rows *cacheRows) UnmarshalJSON(data []byte) error {
	err := jsonobject.Read(data, func(key string, fields json.RawMessage) error {
		row := cacheRow{key: key, fields: fields}
		if err := json.Unmarshal(fields, &row); err != nil {
			return fmt.Errorf("configuration %q: %w", key, err)
		}
		*rows = append(*rows, row)
		return nil
	})
	if err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	return nil
}

func (c *cache) isCache() bool { return c.Rows != nil || c.Tunables != nil }

// recording reads the cache's rows.
func (c *cache) recording() (*Recording, error) {
	r := &Recording{}
	r.Metadata.Device.Name, r.Metadata.Problem.Operator = c.Device, c.Kernel
	r.Metadata.Problem.Shape = c.shape()
	if len(c.Tunables) == 0 {
		return nil, errors.New(`"tune_params_keys" is missing or empty`)
	}
	texts := make([]map[string]expr.Value, len(c.Tunables)) // as Python writes them
	for k, name := range c.Tunables {
		values, found := c.Values[name]
		if !found {
			return nil, fmt.Errorf(`"tune_params" does not tell the values of %s`, name)
		}
		r.Tunables = append(r.Tunables, space.Tunable{Name: name, Values: values})
		texts[k] = map[string]expr.Value{}
		for _, v := range values {
			texts[k][strings.ToLower(v.String())] = v // true is True in Python
		}
	}
	if c.Rows == nil {
		return r, nil
	}
	for _, row := range *c.Rows {
		values, err := row.values(r.Tunables, texts)
		if err != nil {
			return nil, fmt.Errorf("configuration %q: %w", row.key, err)
		}
		r.Trials = append(r.Trials, trial.Trial{Configuration: space.Configuration{Values: values}, Outcome: row.outcome(), At: foreignTime(row.At)})
		r.note(row)
	}
	return r, nil
}

// values finds the row's values: its key holds them, joined by commas, and if
// a value has a comma itself then the row's fields do.
func (r cacheRow) values(tunables []space.Tunable, texts []map[string]expr.Value) (space.Values, error) {
	values := make(space.Values, len(tunables))
	words := strings.Split(r.key, ",")
	known := len(words) == len(tunables)
	for k := 0; known && k < len(words); k++ {
		values[k].Name = tunables[k].Name
		values[k].Value, known = texts[k][strings.ToLower(strings.TrimSpace(words[k]))]
	}
	if known {
		return values, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(r.fields, &fields); err != nil {
		return nil, err
	}
	for k, tunable := range tunables {
		var v expr.Value
		if err := json.Unmarshal(orNull(fields[tunable.Name]), &v); err != nil {
			return nil, fmt.Errorf("tunable %s: %w", tunable.Name, err)
		}
		if !slices.ContainsFunc(tunable.Values, v.Equal) {
			return nil, fmt.Errorf(`tunable %s has the value %s, which is not in "tune_params"`, tunable.Name, v)
		}
		values[k] = space.Value{Name: tunable.Name, Value: v}
	}
	return values, nil
}

// shape is the problem's size, where it is one or some whole numbers.
func (c *cache) shape() []int64 {
	var size int64
	if json.Unmarshal(orNull(c.Size), &size) == nil && size > 0 {
		return []int64{size}
	}
	var sizes []int64
	if json.Unmarshal(orNull(c.Size), &sizes) != nil || slices.ContainsFunc(sizes, func(n int64) bool { return n < 1 }) {
		return nil
	}
	return sizes
}

// failures are the words that stand in place of a time.
var failures = map[string]trial.Status{
	`"CompilationFailedConfig"`: trial.CompileError,
	`"InvalidConfig"`:           trial.Pruned,
}

// outcome reads how the row ended. A failure is told by a string in place of the
// time, by a time that no launch takes (1e20 once), or by an error; what it took
// until then counts.
func (r cacheRow) outcome() trial.Outcome {
	o := trial.Outcome{Phases: trial.Phases{CompileMS: spent(r.Compile), VerifyMS: spent(r.Verify), MeasureMS: spent(r.Benchmark)}}
	ms, err := strconv.ParseFloat(string(r.Time), 64)
	failed := r.Time
	if len(r.Error) > 0 && string(r.Error) != "null" {
		failed, err = r.Error, errors.New("failed")
	}
	if err == nil && trial.CheckMS(ms) == nil {
		o.Status = trial.OK
		var samples []float64
		if json.Unmarshal(orNull(r.Times), &samples) == nil && !slices.ContainsFunc(samples, func(ms float64) bool { return trial.CheckMS(ms) != nil }) {
			o.SetSamples(samples, 1)
		}
		o.Time.Median = ms // as the tool itself has it: a mean
		return o
	}
	if o.Status = failures[string(failed)]; o.Status == "" {
		o.Status = trial.LaunchError
	}
	return o
}
