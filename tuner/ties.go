package tuner

import (
	"cmp"
	"slices"

	"autotune/space"
	"autotune/tuner/trial"
)

// Contender is a member of the tie set.
type Contender struct {
	space.Configuration
	Time trial.Timing `json:"time_ms"`
}

// widestTie bounds a tie: on a GPU that is throttled the leader's interval may be
// wide, and a winner several percent behind it is none.
const widestTie = 1.01

// decide names the winner among the trials and those that the measurements
// cannot tell from it, the winner first; -1 if no trial is right.
//
// The fastest median leads. If it was in the finals, all finalists whose interval
// reaches its interval, and whose median is within widestTie of its median, tie
// with it, and the winner is chosen among them by what does not depend on noise: the fewest resources, then the nearest to its
// template's default, then the order of the space. Whoever sees the same
// intervals chooses the same.
func (s *search) decide() (winner int, ties []int) {
	if s.best < 0 {
		return -1, nil
	}
	leader := s.bestStands()
	if s.trials[s.best].FinalRounds == 0 {
		return s.best, []int{s.best}
	}
	for i, t := range s.trials {
		if stands, ok := s.standing(t); ok && t.FinalRounds > 0 && stands.Reaches(leader) && stands.Median <= widestTie*leader.Median {
			ties = append(ties, i)
		}
	}
	slices.SortFunc(ties, func(a, b int) int {
		return cmp.Or(
			lean(s.trials[a].Resources, s.trials[b].Resources),
			cmp.Compare(s.fromDefault(s.trials[a].Configuration), s.fromDefault(s.trials[b].Configuration)),
			cmp.Compare(s.outcomes[a].ID, s.outcomes[b].ID),
		)
	})
	return ties[0], ties
}

// lean orders resources, the fewest first: what spills, then shared memory, then
// registers.
func lean(a, b trial.Resources) int {
	return cmp.Or(
		cmp.Compare(a.LocalBytes, b.LocalBytes),
		cmp.Compare(a.SharedBytes, b.SharedBytes),
		cmp.Compare(a.Registers, b.Registers),
	)
}

// fromDefault counts the tunables in which a configuration differs from its
// template's default; all of them where the default is not valid here.
func (s *search) fromDefault(c space.Configuration) int {
	for _, d := range s.untunedOf {
		if d.Template != c.Template {
			continue
		}
		n := 0
		for _, v := range c.Values {
			if own, ok := d.Get(v.Name); !ok || !own.Equal(v.Value) {
				n++
			}
		}
		return n
	}
	return len(c.Values)
}

// contenders are the members of the tie set, the winner first.
func (s *search) contenders(ties []int) []Contender {
	list := make([]Contender, len(ties))
	for i, at := range ties {
		list[i] = Contender{s.trials[at].Configuration, s.trials[at].Time}
	}
	return list
}
