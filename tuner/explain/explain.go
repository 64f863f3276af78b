// Package explain says why a winner wins, from the trials of its search, so it needs no device. If there is a device,
// Changes lists further configurations near the winner that are worth a trial.
package explain

import (
	"cmp"
	"context"
	"slices"

	"autotune/device/trial"
	"autotune/operator"
	"autotune/space"
)

// Subject is a winner to explain, with its problem, its device's limits and the trials of its search.
type Subject struct {
	Winner trial.Trial
	Trials []trial.Trial // may include the winner's own trial
	// Measured contains trials that were just timed in turns with the winner. A trial in Measured replaces the trial in
	// Trials that has the same configuration.
	Measured []trial.Turned
	Problem  *operator.Problem // needed for the default; nil if unknown
	Limits   operator.Limits   // limits of the device; zero if unknown
	// Bytes and Flops count the bytes that the problem moves and its operations, and CopyBytesPerMS is the measured
	// rate of a copy; 0 means unknown.
	Bytes, Flops   int64
	CopyBytesPerMS float64
	// Peak is the device's highest rate of arithmetic of the kind PeakOf, in operations a millisecond.
	Peak   float64
	PeakOf string
}

// Explanation says why a winner wins: how near it is to the device's limits, how trials that differ in one tunable
// compare with it, and sentences about both.
type Explanation struct {
	space.Configuration
	TimeMS    float64         `json:"time_ms"`
	CopyShare float64         `json:"copy_share,omitempty"` // share of the measured copy bandwidth; 0: unknown
	PeakShare float64         `json:"peak_share,omitempty"` // share of the peak rate in PeakOf; 0: unknown
	PeakOf    string          `json:"peak_of,omitempty"`
	GFLOPS    float64         `json:"gflops,omitempty"`
	Resources trial.Resources `json:"resources"`
	Tunables  []Tunable       `json:"tunables"`
	Sentences []string        `json:"sentences"`
}

// Tunable is one of the winner's tunables, with the times that other values of it gave.
type Tunable struct {
	Name       string      `json:"name"`
	Value      string      `json:"value"`
	Default    string      `json:"default,omitempty"` // the template's; "": not known
	Neighbours []Neighbour `json:"neighbours,omitempty"`
}

// Neighbour is a trial that differs from the winner in only one tunable.
type Neighbour struct {
	Value string `json:"value"`
	Cost
}

// Cost compares the winner's time with the time of a configuration that differs from it.
type Cost struct {
	Status   trial.Status `json:"status"`
	TimeMS   float64      `json:"time_ms,omitempty"`
	Ratio    float64      `json:"ratio,omitempty"`    // its time over the winner's
	CI95     [2]float64   `json:"ci95,omitzero"`      // interval of Ratio, from both times' intervals or from turns
	Measured bool         `json:"measured,omitempty"` // timed in turns with the winner, not by its search
	Reason   string       `json:"reason,omitempty"`
}

// Tied reports whether the confidence interval allows both that the changed configuration is faster and that it is
// slower than the winner.
func (c Cost) Tied() bool {
	return c.Status == trial.OK && c.CI95[0] <= 1+trial.Resolution && c.CI95[1] >= 1-trial.Resolution
}

// Of explains why the winner in the Subject s is the fastest.
func Of(ctx context.Context, s Subject) Explanation {
	w := s.Winner
	if len(w.Launches) == 0 && s.Problem != nil { // a recording lacks launches
		if k, err := s.Problem.Kernel(w.Configuration); err == nil {
			w.Launches = k.Launches
		}
	}
	e := Explanation{Configuration: w.Configuration, TimeMS: w.Time.Median, Resources: w.Resources, Sentences: []string{}}
	if ms := w.Time.Median; ms > 0 {
		e.GFLOPS = float64(s.Flops) / ms / 1e6
		if s.Peak > 0 {
			e.PeakShare, e.PeakOf = float64(s.Flops)/s.Peak/ms, s.PeakOf
		}
		if s.CopyBytesPerMS > 0 {
			e.CopyShare = float64(s.Bytes) / s.CopyBytesPerMS / ms
		}
	}
	e.Tunables = s.tunables(ctx)
	for _, sentence := range []string{e.limit(), room(w, s.Limits), e.spills()} {
		if sentence != "" {
			e.Sentences = append(e.Sentences, sentence)
		}
	}
	return e
}

// tunables returns the winner's tunables, each with the trials of its other values in the order of the values.
func (s Subject) tunables(ctx context.Context) []Tunable {
	w := s.Winner
	list := []Tunable{}
	declared, defaults := s.template(ctx)
	for _, v := range w.Values {
		one := Tunable{Name: v.Name, Value: v.Value.String()}
		if value, ok := defaults.Get(v.Name); ok {
			one.Default = value.String()
		}
		list = append(list, one)
	}
	measured := map[string]bool{}
	add := func(t trial.Trial, c Cost) {
		if at, ok := alone(w.Configuration, t.Configuration); ok {
			value, _ := t.Get(w.Values[at].Name)
			list[at].Neighbours = append(list[at].Neighbours, Neighbour{value.String(), c})
		}
	}
	for _, t := range s.Measured {
		measured[t.Key()] = true
		c := cost(w, t.Trial)
		if t.Ratio > 0 && t.CI95[0] > 0 {
			c.Ratio, c.CI95, c.Measured = t.Ratio, t.CI95, true
		}
		add(t.Trial, c)
	}
	for _, t := range s.Trials {
		if !measured[t.Key()] {
			add(t, cost(w, t))
		}
	}
	for _, one := range list {
		values := declared[one.Name]
		slices.SortStableFunc(one.Neighbours, func(a, b Neighbour) int {
			return cmp.Or(cmp.Compare(place(values, a.Value), place(values, b.Value)), cmp.Compare(a.TimeMS, b.TimeMS))
		})
	}
	return list
}

// template returns what the winner's template declares: the values of its tunables and its default for the problem.
func (s Subject) template(ctx context.Context) (values map[string][]space.Value, defaults space.Values) {
	values = map[string][]space.Value{}
	if s.Problem == nil {
		return values, nil
	}
	if t, ok := s.Problem.Operator.Template(s.Winner.Template); ok {
		for _, tunable := range t.Tunables {
			for _, v := range tunable.Values {
				values[tunable.Name] = append(values[tunable.Name], space.Value{Name: tunable.Name, Value: v})
			}
		}
	}
	for _, d := range s.Problem.Defaults(ctx) {
		if d.Template == s.Winner.Template {
			defaults = d.Values
		}
	}
	return values, defaults
}

// place returns the index of a value in a tunable's list of declared values, or -1 if the list does not contain it.
func place(declared []space.Value, value string) int {
	return slices.IndexFunc(declared, func(v space.Value) bool { return v.Value.String() == value })
}

// alone returns the index of the only tunable in which two configurations of a template differ, or ok=false if they
// differ in several.
func alone(a, b space.Configuration) (at int, ok bool) {
	if a.Template != b.Template || len(a.Values) != len(b.Values) {
		return 0, false
	}
	different := 0
	for i, v := range a.Values {
		other, has := b.Get(v.Name)
		if !has {
			return 0, false
		}
		if !other.Equal(v.Value) {
			at, different = i, different+1
		}
	}
	return at, different == 1
}

// cost returns the comparison of a trial with the winner.
func cost(w, t trial.Trial) Cost {
	if t.Status != trial.OK {
		return Cost{Status: t.Status, Reason: t.Reason()}
	}
	over := func(a, b float64) float64 {
		if b <= 0 {
			return 0
		}
		return a / b
	}
	return Cost{
		Status: t.Status, TimeMS: t.Time.Median, Ratio: over(t.Time.Median, w.Time.Median),
		CI95: [2]float64{over(t.Time.CI95[0], w.Time.CI95[1]), over(t.Time.CI95[1], w.Time.CI95[0])},
	}
}

// mostChanges is the largest number of changes that --measure times.
const mostChanges = 48

// Changes returns configurations that are worth timing in turns with the winner. Each configuration that Changes
// returns has one tunable set to its default or to a neighbouring value.
func (s Subject) Changes(ctx context.Context) (list []space.Configuration) {
	if s.Problem == nil {
		return nil
	}
	declared, defaults := s.template(ctx)
	known := map[string]bool{s.Winner.Key(): true}
	for i, v := range s.Winner.Values {
		var steps []space.Value
		values := declared[v.Name]
		if at := place(values, v.Value.String()); at >= 0 {
			steps = slices.Concat(values[max(0, at-1):at], values[at+1:min(at+2, len(values))])
		}
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

// changed returns the winner's configuration with another value of one tunable.
func (s Subject) changed(at int, v space.Value) space.Configuration {
	other := space.Configuration{Template: s.Winner.Template, Values: slices.Clone(s.Winner.Values)}
	other.Values[at] = v
	return other
}
