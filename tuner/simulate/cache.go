package simulate

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"autotune/space"
	"autotune/space/expr"
)

// cacheFile is a Kernel Tuner cache on its way to a recording.
type cacheFile struct {
	device, kernel string
	keys           []string
	params         map[string][]expr.Value
	rows           []cacheRow
	interrupted    bool
}

// cacheRow is one line of it. Its fields beside the times are only read for
// configurations whose key does not tell the values.
type cacheRow struct {
	key    string
	fields json.RawMessage
	Time   json.RawMessage `json:"time"`
	Error  json.RawMessage `json:"__error__"`
	// In milliseconds; null for what did not happen.
	Compile   *float64 `json:"compile_time"`
	Verify    *float64 `json:"verification_time"`
	Benchmark *float64 `json:"benchmark_time"`
}

func readCache(data []byte) (*Recording, error) {
	c := cacheFile{}
	if err := eachField(data, c.field); err != nil && !c.interrupted {
		return nil, err
	}
	tunables, err := c.tunables()
	if err != nil {
		return nil, err
	}
	b := newBuilder()
	list := b.list("", tunables)
	for _, row := range c.rows {
		choice, err := c.choice(row, list)
		if err != nil {
			return nil, fmt.Errorf("configuration %q: %w", row.key, err)
		}
		list.add(choice, row.row())
	}
	r, err := b.recording()
	if err != nil {
		return nil, err
	}
	r.Device, r.Kernel, r.Interrupted = c.device, c.kernel, c.interrupted
	return r, nil
}

func (c *cacheFile) field(name string, d *json.Decoder) error {
	switch name {
	case "device_name":
		return d.Decode(&c.device)
	case "kernel_name":
		return d.Decode(&c.kernel)
	case "tune_params_keys":
		return d.Decode(&c.keys)
	case "tune_params":
		return d.Decode(&c.params)
	case "cache":
		return c.readRows(d)
	}
	return skip(d)
}

// readRows reads line by line, so that the lines before the end of an
// interrupted file count.
func (c *cacheFile) readRows(d *json.Decoder) error {
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.New(`"cache" is no object`)
	}
	err := fields(d, func(key string, d *json.Decoder) error {
		row := cacheRow{key: key}
		if err := d.Decode(&row.fields); err != nil {
			return err
		}
		if err := json.Unmarshal(row.fields, &row); err != nil {
			return fmt.Errorf("configuration %q: %w", key, err)
		}
		c.rows = append(c.rows, row)
		return nil
	})
	if cutShort(err) {
		c.interrupted = true
	}
	return err
}

func (c *cacheFile) tunables() ([]space.Tunable, error) {
	if len(c.keys) == 0 {
		return nil, errors.New(`"tune_params_keys" is missing or empty`)
	}
	var tunables []space.Tunable
	for _, name := range c.keys {
		values, found := c.params[name]
		if !found {
			return nil, fmt.Errorf(`"tune_params" does not tell the values of %s`, name)
		}
		tunables = append(tunables, space.Tunable{Name: name, Values: values})
	}
	return tunables, nil
}

// choice finds the row's values: its key holds them, joined by commas, and if
// a value has a comma itself then the row's fields do.
func (c *cacheFile) choice(row cacheRow, l *list) ([]int, error) {
	choice := make([]int, len(c.keys))
	texts := strings.Split(row.key, ",")
	known := len(texts) == len(c.keys)
	for k := 0; known && k < len(texts); k++ {
		choice[k], known = l.byText(k, texts[k])
	}
	if known {
		return choice, nil
	}
	var values map[string]any
	if err := json.Unmarshal(row.fields, &values); err != nil {
		return nil, err
	}
	for k, name := range c.keys {
		v, err := expr.FromGo(values[name])
		if err != nil {
			return nil, fmt.Errorf("tunable %s: %w", name, err)
		}
		at, found := l.byValue(k, v)
		if !found {
			return nil, fmt.Errorf(`tunable %s has the value %s, which is not in "tune_params"`, name, v)
		}
		choice[k] = at
	}
	return choice, nil
}

// row reads the outcome. A failure is told by a string in place of the time,
// or by an error; what it took until then counts.
func (r cacheRow) row() Row {
	row := Row{CostMS: number(r.Compile) + number(r.Verify) + number(r.Benchmark)}
	value, err := strconv.ParseFloat(string(r.Time), 64)
	failed := len(r.Error) > 0 && string(r.Error) != "null"
	if row.OK = err == nil && value > 0 && !failed; row.OK {
		row.Value = value
	}
	return row
}

// number is what a time that may be missing adds to a sum.
func number(x *float64) float64 {
	if x == nil || !(*x > 0) {
		return 0
	}
	return *x
}
