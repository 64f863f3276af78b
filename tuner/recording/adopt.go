package recording

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"autotune/space"
	"autotune/tuner/device"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// rowKeys are the fields of a cache's row that are read, or that follow from them.
var rowKeys = []string{"time", "times", "timestamp", "__error__", "compile_time", "verification_time", "benchmark_time", "strategy_time", "framework_time"}

// note takes down which fields of a row have no place here.
func (r *Recording) note(row cacheRow) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(row.fields, &fields) != nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		tunable := slices.ContainsFunc(r.Tunables, func(t space.Tunable) bool { return t.Name == key })
		if at, known := slices.BinarySearch(r.Untaken, key); !known && !tunable && !slices.Contains(rowKeys, key) {
			r.Untaken = slices.Insert(r.Untaken, at, key)
		}
	}
}

// foreignTime is when something happened, as Python writes it; zero if it does not tell.
func foreignTime(text string) time.Time {
	for _, form := range []string{"2006-01-02 15:04:05.999999-07:00", time.RFC3339, "2006-01-02T15:04:05.999999", "2006-01-02 15:04:05"} {
		if at, err := time.Parse(form, text); err == nil {
			return at.UTC()
		}
	}
	return time.Time{}
}

// Adopt makes a recording that can be replayed of one that another tool made: it is
// of this problem and this template then, whose space it must fit. A name that
// kernels know a tunable by, and a value that equals one of its values, will do.
// Without a template, problem and template bear the kernel's name, and nothing is
// compared. at is when it was recorded, for trials that do not say.
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

// rename gives a trial's values the names and the kinds that a template has.
func rename(x *trial.Trial, o *operator.Operator, t *operator.Template) error {
	values := make(space.Values, 0, len(t.Tunables))
	for _, tunable := range t.Tunables {
		v, ok := x.Get(tunable.Name)
		if !ok {
			v, ok = x.Get(o.MacroName(tunable.Name))
		}
		if !ok {
			return fmt.Errorf("it does not tell the tunable %s of template %s; it tells %s", tunable.Name, t.Name, strings.Join(names(x.Values), ", "))
		}
		if at := slices.IndexFunc(tunable.Values, v.Equal); at >= 0 {
			v = tunable.Values[at]
		}
		values = append(values, space.Value{Name: tunable.Name, Value: v})
	}
	x.Values = values
	return nil
}

func names(values space.Values) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = v.Name
	}
	return list
}
