// Package simulate scores strategies on recorded searches, without a GPU.
//
// A recording of an exhaustive search has the time of every configuration of a space, and how long each took to
// evaluate. The strategy proposes a configuration, the recording returns its time, and a simulated clock adds up the
// evaluations. A score follows "A methodology for comparing optimization algorithms for auto-tuning" (Willemsen and
// others, 2024): how far a strategy is from random search (0) to the optimum (1), averaged over the time that random
// search takes from near the median to close to the optimum. docs/simulation.md describes the score.
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

// Recording is a recorded search of a whole space, on which strategies can be simulated.
type Recording struct {
	*recording.Recording
	Name  string // file's name, without suffixes
	Space *space.Space
	Rows  []Row // rows by the index of the configuration in Space
}

// Row is the recorded result of one configuration.
type Row struct {
	OK     bool
	Value  float64 // time of a launch, lower is better; only valid if OK
	CostMS float64 // time of the evaluation: compile, verify and measure
}

// Valid returns the times of the successful configurations, the best first.
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

// Load reads a recording, compressed or not, in the cache format of Kernel Tuner or in the T4 results format.
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

// newRecording builds the space of the recorded configurations, and its rows in the order of the space.
func newRecording(recorded *recording.Recording) (*Recording, error) {
	// A replay marks configurations that its recording lacks as pruned; these trials hold no result.
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
	// The loop over the trials runs backwards, so that the first trial of a configuration counts if the recording has
	// several.
	for _, t := range slices.Backward(recorded.Trials) {
		id, _ := s.Index(t.Configuration) // the space was made from these configurations
		r.Rows[id] = rowOf(t)
	}
	if len(r.Valid()) < 2 {
		return nil, errors.New("fewer than two of its configurations have a time: there is nothing to search for")
	}
	return r, nil
}

// list returns the configurations of one template, taken from the recorded trials with the given indices. If the
// file does not list the values of a tunable, list uses the values that occur, with numbers in ascending order.
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

// rowOf returns the recorded result of a trial: what a strategy learns from it, and how long it took.
func rowOf(t trial.Trial) Row {
	row := Row{CostMS: t.Phases.CompileMS + t.Phases.VerifyMS + t.Phases.MeasureMS}
	if row.OK = t.Status == trial.OK && t.Time.Median > 0 && !math.IsInf(t.Time.Median, 1); row.OK {
		row.Value = t.Time.Median
	}
	return row
}
