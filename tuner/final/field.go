package final

import (
	"cmp"
	"slices"

	"autotune/device/trial"
	"autotune/space"
)

// Field holds the trials among which a winner is chosen, and keeps track of the fastest one, the leader. Only one
// goroutine at a time may use a Field.
type Field struct {
	Trials   []trial.Trial
	ByStatus map[trial.Status]int
	// Defaults are the templates' default configurations.
	Defaults []space.Configuration

	ids      []int64       // configurations of the trials
	at       map[int64]int // index of each configuration's trial
	baseline int64         // configuration of the untuned default; -1: none
	best     int           // index of the leading trial; -1: none
}

// NewField returns a field without trials. The argument `baseline` is the number of the configuration that is the
// untuned default, or -1 if there is none.
func NewField(baseline int64, defaults []space.Configuration) *Field {
	return &Field{ByStatus: map[trial.Status]int{}, Defaults: defaults, at: map[int64]int{}, baseline: baseline, best: -1}
}

// standing returns the time by which a trial is ranked, and whether the trial may become the winner. Trials with a
// smaller median time rank higher.
func standing(t trial.Trial) (trial.Timing, bool) { return t.Time, t.Status == trial.OK }

// Enter adds the trial of a configuration, and returns the time by which it is ranked and whether it may win.
func (f *Field) Enter(id int64, t trial.Trial) (stands trial.Timing, ok bool) {
	f.at[id] = len(f.Trials)
	f.Trials, f.ids = append(f.Trials, t), append(f.ids, id)
	f.ByStatus[t.Status]++
	f.contend(len(f.Trials) - 1)
	return standing(t)
}

// amend changes the trial of a configuration, finds the leader again, and returns the changed trial.
func (f *Field) amend(id int64, change func(*trial.Trial)) trial.Trial {
	t := &f.Trials[f.at[id]]
	if f.ByStatus[t.Status]--; f.ByStatus[t.Status] == 0 {
		delete(f.ByStatus, t.Status)
	}
	change(t)
	f.ByStatus[t.Status]++
	f.best = -1
	for i := range f.Trials {
		f.contend(i)
	}
	return *t
}

// contend makes a trial the leader if it is faster than the leader so far.
func (f *Field) contend(at int) {
	stands, ok := standing(f.Trials[at])
	if ok && (f.best < 0 || stands.Median < f.lead().Median) {
		f.best = at
	}
}

func (f *Field) lead() trial.Timing {
	stands, _ := standing(f.Trials[f.best])
	return stands
}

func (f *Field) Tried(id int64) bool {
	_, tried := f.at[id]
	return tried
}

func (f *Field) Leader() (id int64, ok bool) {
	if f.best < 0 {
		return 0, false
	}
	return f.ids[f.best], true
}

// Best returns the leading trial, or nil if no trial can win.
func (f *Field) Best() *trial.Trial {
	if f.best < 0 {
		return nil
	}
	return &f.Trials[f.best]
}

func (f *Field) BestMS() float64 {
	if f.best < 0 {
		return 0
	}
	return f.Trials[f.best].Time.Median
}

func (f *Field) IsUntuned(id int64) bool { return id == f.baseline }

// Untuned returns the trial of the untuned default, or nil if the default has no trial yet.
func (f *Field) Untuned() *trial.Trial {
	if at, tried := f.at[f.baseline]; tried {
		return &f.Trials[at]
	}
	return nil
}

// Behind reports whether the finals can skip a configuration, since its confidence interval does not overlap the
// leader's and it is not the baseline.
func (f *Field) Behind(id int64) bool {
	stands, ok := standing(f.Trials[f.at[id]])
	return id != f.baseline && !(ok && f.best >= 0 && stands.Reaches(f.lead()))
}

// reaching returns the indices of the trials whose confidence interval overlaps the leader's, the fastest first.
func (f *Field) reaching() []int {
	var all []int
	medians := map[int]float64{}
	for i, t := range f.Trials {
		if stands, ok := standing(t); ok && stands.Reaches(f.lead()) {
			all, medians[i] = append(all, i), stands.Median
		}
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(medians[a], medians[b]) })
	return all
}

// Contender is a member of the tie set.
type Contender struct {
	space.Configuration
	Time trial.Timing `json:"time_ms"`
}

// Decide returns the winner and the tie set: the trials that the measurements cannot tell from the winner, with the
// winner first. If no trial is correct, Decide returns nil.
//
// The trial with the smallest median is the leader. If the leader was in the finals, another finalist ties with it
// if its confidence interval overlaps the leader's and its median is within the factor widestTie. The choice among
// ties does not depend on noise: Decide prefers the kernel with the fewest resources, then the one nearest to its
// template's default, then the first one in the space. Because no choice depends on noise, two searches have the
// same winner if the confidence intervals of their trials are equal.
func (f *Field) Decide() (winner *trial.Trial, ties []Contender) {
	for _, i := range f.decide() {
		t := &f.Trials[i]
		winner, ties = cmp.Or(winner, t), append(ties, Contender{t.Configuration, t.Time})
	}
	return winner, ties
}

func (f *Field) decide() (ties []int) {
	if f.best < 0 {
		return nil
	}
	if f.Trials[f.best].FinalRounds == 0 {
		return []int{f.best}
	}
	leader := f.lead()
	for i, t := range f.Trials {
		stands, ok := standing(t)
		if ok && t.FinalRounds > 0 && stands.Reaches(leader) && stands.Median <= policy.widestTie*leader.Median {
			ties = append(ties, i)
		}
	}
	slices.SortFunc(ties, func(a, b int) int {
		return cmp.Or(
			lean(f.Trials[a].Resources, f.Trials[b].Resources),
			cmp.Compare(f.fromDefault(f.Trials[a].Configuration), f.fromDefault(f.Trials[b].Configuration)),
			cmp.Compare(f.ids[a], f.ids[b]),
		)
	})
	return ties
}

// lean compares the resources of two kernels: first spilled memory, then shared memory, then registers; the kernel with
// fewer resources comes first.
func lean(a, b trial.Resources) int {
	return cmp.Or(
		cmp.Compare(a.LocalBytes, b.LocalBytes),
		cmp.Compare(a.SharedBytes, b.SharedBytes),
		cmp.Compare(a.Registers, b.Registers),
	)
}

// fromDefault counts the tunables in which a configuration differs from its template's default. fromDefault counts all
// tunables if the template's default is not valid for the problem.
func (f *Field) fromDefault(c space.Configuration) int {
	for _, d := range f.Defaults {
		if d.Template == c.Template {
			return c.Values.Differences(d.Values)
		}
	}
	return len(c.Values)
}
