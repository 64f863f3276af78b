package recording

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/jsonobject"
	"autotune/internal/lists"
	"autotune/operator"
	"autotune/space"
	"autotune/space/expr"
)

type cache struct {
	Device   string                  `json:"device_name"`
	Kernel   string                  `json:"kernel_name"`
	Size     json.RawMessage         `json:"problem_size"` // a number, a list of numbers, or another value of Python
	Tunables []string                `json:"tune_params_keys"`
	Values   map[string][]expr.Value `json:"tune_params"`
	Rows     *cacheRows              `json:"cache"`
}

type cacheRows []cacheRow

// cacheRow is one configuration in a Kernel Tuner cache. The remaining fields of a row in a Kernel Tuner cache are read
// for values of tunables only if the row's key does not contain the values.
type cacheRow struct {
	key    string
	fields json.RawMessage
	Time   json.RawMessage `json:"time"`
	Error  json.RawMessage `json:"__error__"`
	Times  json.RawMessage `json:"times"` // of each launch
	At     string          `json:"timestamp"`
	// The times of a row in a Kernel Tuner cache are in milliseconds, and null for a step that did not happen.
	Compile   float64 `json:"compile_time"`
	Verify    float64 `json:"verification_time"`
	Benchmark float64 `json:"benchmark_time"`
}

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

func (c *cache) recording() (*Recording, error) {
	r := new(Recording)
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
			texts[k][strings.ToLower(v.String())] = v // Python writes True for true
		}
	}
	if c.Rows == nil {
		c.Rows = new(cacheRows)
	}
	for _, row := range *c.Rows {
		values, err := row.values(r.Tunables, texts)
		if err != nil {
			return nil, fmt.Errorf("configuration %q: %w", row.key, err)
		}
		r.Trials = append(r.Trials, trial.Trial{Configuration: space.Configuration{Values: values}, Outcome: row.outcome(), At: foreignTime(row.At)})
	}
	return r, nil
}

// values returns the row's values of the tunables. The key of a row in a Kernel Tuner cache holds the values of the
// tunables, joined by commas; if a value itself contains a comma, the row's fields are read instead.
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

func (c *cache) shape() []int64 {
	size, sizes := int64(0), []int64{}
	if json.Unmarshal(orNull(c.Size), &size) == nil {
		sizes = []int64{size}
	} else if json.Unmarshal(orNull(c.Size), &sizes) != nil {
		return nil
	}
	if slices.ContainsFunc(sizes, func(n int64) bool { return n < 1 }) {
		return nil
	}
	return sizes
}

// outcome returns how the row's evaluation ended. A failed row of a Kernel Tuner cache contains an error, or a string
// in place of the time, or a time that no launch takes (1e20 in old files). A failed row of a Kernel Tuner cache also
// contains the time that was spent before the failure.
func (r cacheRow) outcome() trial.Outcome {
	o := trial.Outcome{Phases: trial.Phases{CompileMS: spent(r.Compile), VerifyMS: spent(r.Verify), MeasureMS: spent(r.Benchmark)}}
	ms, err := strconv.ParseFloat(string(r.Time), 64)
	failed := string(r.Time)
	if len(r.Error) > 0 && string(r.Error) != "null" {
		failed, ms = string(r.Error), 0
	}
	if err == nil && trial.CheckMS(ms) == nil {
		o.Status = trial.OK
		var samples []float64
		if json.Unmarshal(orNull(r.Times), &samples) == nil && trial.CheckMS(samples...) == nil {
			o.SetSamples(samples, 1)
		}
		o.Time.Median = ms // the tool's own value: a mean
		return o
	}
	known := map[string]trial.Status{`"CompilationFailedConfig"`: trial.CompileError, `"InvalidConfig"`: trial.Pruned}
	o.Status = cmp.Or(known[failed], trial.LaunchError)
	return o
}

// foreignTime parses a time as Python writes it, and returns the zero time if the text is not a time.
func foreignTime(text string) time.Time {
	for _, form := range []string{"2006-01-02 15:04:05.999999-07:00", time.RFC3339, "2006-01-02T15:04:05.999999", "2006-01-02 15:04:05"} {
		if at, err := time.Parse(form, text); err == nil {
			return at.UTC()
		}
	}
	return time.Time{}
}

// Adopt turns a recording that another tool made into one that can be replayed, for the given problem and template. The
// recorded configurations must fit the template's space, but a tunable may also be recorded under the name of its
// macro, and a value may be of another type if it equals one of the tunable's values. If t is nil, the recorded
// kernel's name is used for the problem and the template, and no configuration is checked; at is the date of trials
// without a date.
func (r *Recording) Adopt(problem operator.ProblemRecord, o *operator.Operator, t *operator.Template, limits operator.Limits, at time.Time) error {
	if r.Metadata.Format == Format {
		return errors.New("it is a recording already: --device replay:FILE answers from it")
	}
	if len(r.Trials) == 0 {
		return errors.New("it holds no results")
	}
	template := problem.Operator
	if t != nil {
		template = t.Name
	}
	m := &r.Metadata
	m.Problem, m.Device.Kind, m.Device.Limits = problem, device.CUDA, limits
	m.Device.Name = cmp.Or(m.Device.Name, "unknown GPU")
	for i := range r.Trials {
		x := &r.Trials[i]
		x.Template = template
		if t != nil {
			if err := rename(x, o, t); err != nil {
				return err
			}
		}
		if x.Status == trial.OK && len(x.SamplesMS) == 0 {
			x.SetSamples([]float64{x.Time.Median}, 1)
		}
		if x.At.IsZero() {
			x.At = at
		}
		if m.RecordedAt.Before(x.At) {
			m.RecordedAt = x.At
		}
	}
	r.Tunables = nil
	return nil
}

func rename(x *trial.Trial, o *operator.Operator, t *operator.Template) error {
	values := make(space.Values, len(t.Tunables))
	for i, tunable := range t.Tunables {
		v, ok := x.Get(tunable.Name)
		if !ok {
			v, ok = x.Get(o.Macros.Macro(tunable.Name))
		}
		if !ok {
			return fmt.Errorf("it does not tell the tunable %s of template %s; it tells %s",
				tunable.Name, t.Name, strings.Join(x.Values.Words(), ", "))
		}
		if at := slices.IndexFunc(tunable.Values, v.Equal); at >= 0 {
			v = tunable.Values[at]
		}
		values[i] = space.Value{Name: tunable.Name, Value: v}
	}
	x.Values = values
	return nil
}

// TemplateOf returns the template with this name or, if the name is empty, the operator's only template.
func TemplateOf(op *operator.Operator, name string) (*operator.Template, error) {
	for _, t := range op.Templates {
		if t.Name == name || name == "" && len(op.Templates) == 1 {
			return t, nil
		}
	}
	if name == "" {
		return nil, fmt.Errorf("%s has %d templates; name the one that the trials are of with --template", op.Name, len(op.Templates))
	}
	names := lists.Of(op.Templates, func(t *operator.Template) string { return t.Name })
	return nil, fmt.Errorf("unknown template %q; there are %s", name, strings.Join(names, ", "))
}

// Untold returns the tunables of a trial that a template lacks, both under their own names and under the names of their
// macros.
func Untold(op *operator.Operator, t *operator.Template, x trial.Trial) (more []string) {
	for _, v := range x.Values {
		known := func(tunable space.Tunable) bool {
			return v.Name == tunable.Name || v.Name == op.Macros.Macro(tunable.Name)
		}
		if !slices.ContainsFunc(t.Tunables, known) {
			more = append(more, v.Name)
		}
	}
	return more
}
