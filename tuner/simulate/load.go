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

	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/device/replay"
	"autotune/tuner/recording"
	"autotune/tuner/trial"
)

// Load reads a recording, compressed or not: a Kernel Tuner cache, also one of
// an interrupted search, or T4 results, which our own recordings are.
func Load(ctx context.Context, path string) (*Recording, error) {
	recorded, err := recording.LoadAny(ctx, path)
	if err != nil {
		return nil, err
	}
	r, err := newRecording(recorded)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r.File, r.Name = path, nameOf(path)
	return r, nil
}

// nameOf is the file's name without its folder and endings.
func nameOf(path string) string {
	name := filepath.Base(path)
	name = strings.TrimSuffix(name, ".gz")
	return strings.TrimSuffix(name, ".json")
}

// newRecording builds the space of the recorded configurations and puts what is
// known of them in its order.
func newRecording(recorded *recording.Recording) (*Recording, error) {
	// What a replay was asked for and did not know is no part of its recording.
	recorded.Trials = slices.DeleteFunc(recorded.Trials, func(t trial.Trial) bool {
		return t.Status == trial.Pruned && t.Message == replay.NotRecorded
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
	r := &Recording{
		Kernel: recorded.Metadata.Problem.Operator, Device: recorded.Metadata.Device.Name, Interrupted: recorded.Interrupted,
		Space: s, Rows: make([]Row, s.Len()), ValidConfigurations: recorded.Metadata.Valid, recorded: recorded,
	}
	// Backwards: of a configuration that is recorded twice the first counts.
	for _, t := range slices.Backward(recorded.Trials) {
		id, found := s.Index(t.Configuration)
		if !found {
			return nil, fmt.Errorf("configuration %s has other tunables than the first that is recorded", t.Configuration)
		}
		r.Rows[id] = rowOf(t)
	}
	if len(r.Valid()) < 2 {
		return nil, errors.New("fewer than two of its configurations have a time: there is nothing to search for")
	}
	return r, nil
}

// list lists the configurations of one template, those of the trials with these
// indexes. Where the file does not tell which values a tunable may have, they are
// those that occur.
func list(recorded *recording.Recording, template string, indexes []int) (space.Listed, error) {
	l := space.Listed{Template: template, Tunables: recorded.Tunables}
	declared := l.Tunables != nil
	if !declared {
		for _, v := range recorded.Trials[indexes[0]].Values {
			l.Tunables = append(l.Tunables, space.Tunable{Name: v.Name})
		}
		slices.SortFunc(l.Tunables, func(a, b space.Tunable) int { return strings.Compare(a.Name, b.Name) })
	}
	at := make([]map[expr.Value]int, len(l.Tunables)) // of each value
	for k := range l.Tunables {
		tunable := &l.Tunables[k]
		if !declared {
			if err := occurring(tunable, recorded.Trials, indexes); err != nil {
				if template != "" {
					err = fmt.Errorf("template %s: %w", template, err)
				}
				return l, err
			}
		}
		at[k] = map[expr.Value]int{}
		for i, v := range tunable.Values {
			at[k][v.Canonical()] = i
		}
	}
	seen := map[string]bool{}
	for _, i := range indexes {
		choice := make([]int, len(l.Tunables))
		for k, tunable := range l.Tunables {
			v, _ := recorded.Trials[i].Get(tunable.Name)
			choice[k] = at[k][v.Canonical()]
		}
		if key := fmt.Sprint(choice); !seen[key] {
			seen[key] = true
			l.Choices = append(l.Choices, choice)
		}
	}
	return l, nil
}

// occurring collects a tunable's values. Numbers are put in order.
func occurring(tunable *space.Tunable, trials []trial.Trial, indexes []int) error {
	seen := map[expr.Value]bool{}
	numbers := true
	for _, i := range indexes {
		v, ok := trials[i].Get(tunable.Name)
		if !ok {
			return fmt.Errorf("results[%d]: tunable %s has no value", i, tunable.Name)
		}
		v = v.Canonical()
		if !seen[v] {
			seen[v] = true
			tunable.Values = append(tunable.Values, v)
		}
		numbers = numbers && v.Kind() != expr.KindString
	}
	if numbers {
		slices.SortStableFunc(tunable.Values, func(a, b expr.Value) int {
			order, _ := a.Compare(b)
			return order
		})
	}
	return nil
}

// rowOf is what a trial says to a strategy, and what it cost.
func rowOf(t trial.Trial) Row {
	row := Row{CostMS: t.Phases.CompileMS + t.Phases.VerifyMS + t.Phases.MeasureMS}
	if row.OK = t.Status == trial.OK && t.Time.Median > 0 && !math.IsInf(t.Time.Median, 1); row.OK {
		row.Value = t.Time.Median
	}
	return row
}
