package explain

import (
	"context"
	"slices"

	"autotune/device/trial"
	"autotune/space"
)

// mostChanges is how many changes --measure times at most.
const mostChanges = 48

// Changes are the configurations to be timed beside the winner: each tunable at its default and at
// its neighbours.
func (s Subject) Changes(ctx context.Context) (list []space.Configuration) {
	if s.Problem == nil {
		return nil
	}
	declared, defaults := s.template(ctx)
	known := map[string]bool{s.Winner.Key(): true}
	for i, v := range s.Winner.Values {
		steps := nearest(declared[v.Name], v)
		if value, ok := defaults.Get(v.Name); ok {
			steps = append(steps, space.Value{Name: v.Name, Value: value})
		}
		for _, step := range steps {
			other := s.changed(i, step)
			if key := other.Key(); !known[key] && s.Problem.Admits(other) {
				known[key] = true
				list = append(list, other)
			}
		}
	}
	return list[:min(len(list), mostChanges)]
}

// changed is the winner with another value of one tunable.
func (s Subject) changed(at int, v space.Value) space.Configuration {
	other := space.Configuration{Template: s.Winner.Template, Values: slices.Clone(s.Winner.Values)}
	other.Values[at] = v
	return other
}

// nearest are the declared values on both sides of one.
func nearest(declared []space.Value, of space.Value) (list []space.Value) {
	at := place(declared, of.Value.String())
	for _, next := range []int{at - 1, at + 1} {
		if at >= 0 && next >= 0 && next < len(declared) {
			list = append(list, declared[next])
		}
	}
	return list
}

// turned is what a trial costs that took turns with the winner.
func turned(t trial.Turned, w trial.Trial) Cost {
	c := cost(w, t.Trial)
	if t.Ratio > 0 && t.CI95[0] > 0 {
		c.Ratio, c.CI95, c.Measured = t.Ratio, t.CI95, true
	}
	return c
}
