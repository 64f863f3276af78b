// Package simulate scores strategies on recorded searches, without a GPU.
//
// A recording of an exhaustive search knows for every configuration of a space what it scored and how long that took
// to find out. The strategy asks, the recording answers, and a clock adds up what each answer would have cost.
// A score follows "A methodology for comparing optimization algorithms for auto-tuning" (Willemsen and others, 2024):
// how far a strategy is from random search (0) to the optimum (1), averaged over the time that random search takes
// from near the median to close to the optimum. docs/simulation.md describes it.
package simulate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"autotune/device/recording"
	"autotune/device/trial"
	"autotune/space"
	"autotune/space/expr"
)

// Recording is a search of a whole space, ready to be played.
type Recording struct {
	*recording.Recording
	Name  string // from the file's
	Space *space.Space
	Rows  []Row // by the number of the configuration in Space
}

// Row is what the recording knows of one configuration.
type Row struct {
	OK     bool
	Value  float64 // the time of a launch, lower is better; of no meaning unless OK
	CostMS float64 // what it took to find out: compile, verify and benchmark
}

// Valid returns the values of the configurations that work, best first.
func (r *Recording) Valid() []float64 {
	var values []float64
	for _, row := range r.Rows {
		if row.OK {
			values = append(values, row.Value)
		}
	}
	slices.Sort(values)
	return values
}

// Load reads a recording, compressed or not: a Kernel Tuner cache or T4 results, also of an interrupted search.
func Load(ctx context.Context, path string) (*Recording, error) {
	recorded, err := recording.LoadAny(ctx, path)
	if err != nil {
		return nil, err
	}
	r, err := newRecording(recorded)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r.Name = strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".gz"), ".json")
	return r, nil
}

// newRecording builds the space of the recorded configurations, and orders their rows as it does.
func newRecording(recorded *recording.Recording) (*Recording, error) {
	// Configurations that were pruned because a replay lacked them are not recorded.
	recorded.Trials = slices.DeleteFunc(recorded.Trials, func(t trial.Trial) bool {
		return t.Status == trial.Pruned && t.Message == recording.NotRecorded
	})
	templates := map[string][]int{}
	for i, t := range recorded.Trials {
		templates[t.Template] = append(templates[t.Template], i)
	}
	var lists []space.Listed
	for _, template := range slices.Sorted(maps.Keys(templates)) {
		l, err := list(recorded, template, templates[template])
		if err != nil {
			return nil, err
		}
		lists = append(lists, l)
	}
	s, err := space.Explicit(lists...)
	if err != nil {
		return nil, err
	}
	r := &Recording{Recording: recorded, Space: s, Rows: make([]Row, s.Len())}
	// Backwards: of a configuration that is recorded twice the first counts.
	for _, t := range slices.Backward(recorded.Trials) {
		id, _ := s.Index(t.Configuration) // it was made of them
		r.Rows[id] = rowOf(t)
	}
	if len(r.Valid()) < 2 {
		return nil, errors.New("fewer than two of its configurations have a time: there is nothing to search for")
	}
	return r, nil
}

// list lists the configurations of one template, those of the trials with these indexes. Where the file does not say
// which values a tunable may have, they are those that occur, numbers in order.
func list(recorded *recording.Recording, template string, indexes []int) (space.Listed, error) {
	l := space.Listed{Template: template, Tunables: recorded.Tunables}
	for _, i := range indexes {
		l.Configurations = append(l.Configurations, recorded.Trials[i].Values)
	}
	if l.Tunables != nil {
		return l, nil
	}
	for _, first := range l.Configurations[0] {
		tunable := space.Tunable{Name: first.Name}
		for i, values := range l.Configurations {
			v, ok := values.Get(first.Name)
			if !ok {
				return l, fmt.Errorf("template %q: results[%d]: tunable %s has no value", template, indexes[i], first.Name)
			}
			if !slices.ContainsFunc(tunable.Values, v.Equal) {
				tunable.Values = append(tunable.Values, v.Canonical())
			}
		}
		if !slices.ContainsFunc(tunable.Values, func(v expr.Value) bool { return v.Kind() == expr.KindString }) {
			slices.SortStableFunc(tunable.Values, func(a, b expr.Value) int {
				order, _ := a.Compare(b)
				return order
			})
		}
		l.Tunables = append(l.Tunables, tunable)
	}
	slices.SortFunc(l.Tunables, func(a, b space.Tunable) int { return strings.Compare(a.Name, b.Name) })
	return l, nil
}

// rowOf is what a strategy learns from a trial, and what the trial cost.
func rowOf(t trial.Trial) Row {
	row := Row{CostMS: t.Phases.CompileMS + t.Phases.VerifyMS + t.Phases.MeasureMS}
	if row.OK = t.Status == trial.OK && t.Time.Median > 0 && !math.IsInf(t.Time.Median, 1); row.OK {
		row.Value = t.Time.Median
	}
	return row
}
