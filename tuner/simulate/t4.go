package simulate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"autotune/space"
	"autotune/space/expr"
)

// t4Result is a result of T4 JSON, with the names that Kernel Tuner writes, the
// names of the schema, and what our own recordings add.
type t4Result struct {
	Configuration map[string]any `json:"configuration"`
	Times         struct {
		Compilation     *float64   `json:"compilation"`
		CompilationTime *float64   `json:"compilation_time"`
		Validation      *float64   `json:"validation"`
		Runtimes        []*float64 `json:"runtimes"`
	} `json:"times"`
	Invalidity   string `json:"invalidity"`
	Measurements []struct {
		Name  string          `json:"name"`
		Value json.RawMessage `json:"value"`
	} `json:"measurements"`
	Objectives []string `json:"objectives"`
	Extra      struct {
		MeasureMS *float64 `json:"measure_ms"`
	} `json:"autotune"`
}

type t4Metadata struct {
	Operator string `json:"operator"`
	Device   struct {
		Name string
	} `json:"device"`
}

// templateKey is the key of a configuration of ours that is no tunable.
const templateKey = "template"

// t4File is a T4 file on its way to a recording.
type t4File struct {
	metadata    t4Metadata
	results     []t4Result
	interrupted bool
}

func readT4(data []byte) (*Recording, error) {
	var f t4File
	if err := eachField(data, f.field); err != nil && !f.interrupted {
		return nil, err
	}
	templates := map[string][]t4Result{}
	for _, result := range f.results {
		name, _ := result.Configuration[templateKey].(string)
		templates[name] = append(templates[name], result)
	}
	b := newBuilder()
	for _, template := range slices.Sorted(maps.Keys(templates)) {
		if err := addTemplate(b, template, templates[template]); err != nil {
			return nil, err
		}
	}
	r, err := b.recording()
	if err != nil {
		return nil, err
	}
	r.Device, r.Kernel, r.Interrupted = f.metadata.Device.Name, f.metadata.Operator, f.interrupted
	return r, nil
}

func (f *t4File) field(name string, d *json.Decoder) error {
	switch name {
	case "metadata":
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return err
		}
		// Other tools' metadata may look otherwise, and is only for show.
		_ = json.Unmarshal(raw, &f.metadata)
		return nil
	case "results":
		return f.readResults(d)
	}
	return skip(d)
}

func (f *t4File) readResults(d *json.Decoder) error {
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return fmt.Errorf(`"results" is no list`)
	}
	var err error
	for err == nil && d.More() {
		var result t4Result
		if err = d.Decode(&result); err == nil {
			f.results = append(f.results, result)
		}
	}
	if err == nil {
		_, err = d.Token()
	}
	f.interrupted = cutShort(err)
	return err
}

// addTemplate enters the results of one template. T4 does not tell which values
// a tunable may have: they are those that occur.
func addTemplate(b *builder, template string, results []t4Result) error {
	tunables, rows, err := t4Tunables(results)
	if err != nil {
		return inTemplate(template, err)
	}
	l := b.list(template, tunables)
	for i, values := range rows {
		choice := make([]int, len(tunables))
		for k, v := range values {
			choice[k], _ = l.byValue(k, v)
		}
		l.add(choice, results[i].row())
	}
	return nil
}

func inTemplate(template string, err error) error {
	if template == "" {
		return err
	}
	return fmt.Errorf("template %s: %w", template, err)
}

// t4Tunables collects the tunables and their values, and each result's values.
func t4Tunables(results []t4Result) ([]space.Tunable, [][]expr.Value, error) {
	names := slices.Sorted(maps.Keys(results[0].Configuration))
	names = slices.DeleteFunc(names, func(n string) bool { return n == templateKey && isText(results[0].Configuration[n]) })
	tunables := make([]space.Tunable, len(names))
	seen := make([]map[expr.Value]bool, len(names))
	for k, name := range names {
		tunables[k].Name, seen[k] = name, map[expr.Value]bool{}
	}
	rows := make([][]expr.Value, len(results))
	for i, result := range results {
		for k, name := range names {
			v, err := expr.FromGo(result.Configuration[name])
			if err != nil {
				return nil, nil, fmt.Errorf("results[%d]: tunable %s: %w", i, name, err)
			}
			v = canonical(v) // JSON's 8 is a float, and an int is meant
			rows[i] = append(rows[i], v)
			if !seen[k][v] {
				seen[k][v] = true
				tunables[k].Values = append(tunables[k].Values, v)
			}
		}
	}
	for _, t := range tunables {
		sortNumbers(t.Values)
	}
	return tunables, rows, nil
}

func isText(x any) bool {
	_, ok := x.(string)
	return ok
}

// sortNumbers puts numbers in order; what holds other values stays as it is.
func sortNumbers(values []expr.Value) {
	for _, v := range values {
		if _, ok := v.AsFloat(); !ok {
			return
		}
	}
	slices.SortStableFunc(values, func(a, b expr.Value) int {
		order, _ := a.Compare(b)
		return order
	})
}

// row reads the outcome: the measurement that the objective names. What was
// spent measuring is the sum of the launches where nothing else tells it.
func (r t4Result) row() Row {
	row := Row{CostMS: number(r.Times.Compilation) + number(r.Times.CompilationTime) + number(r.Times.Validation)}
	if r.Extra.MeasureMS != nil {
		row.CostMS += number(r.Extra.MeasureMS)
	} else {
		for _, ms := range r.Times.Runtimes {
			row.CostMS += number(ms)
		}
	}
	objective := "time"
	if len(r.Objectives) > 0 {
		objective = r.Objectives[0]
	}
	for _, m := range r.Measurements {
		value, err := strconv.ParseFloat(string(m.Value), 64)
		if m.Name == objective && err == nil && value > 0 && r.Invalidity == "correct" {
			row.OK, row.Value = true, value
			return row
		}
	}
	return row
}
