package tuner

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"autotune/space"
)

// warmProblems is how many problems' winners a search starts from.
const warmProblems = 3

// warmStart finds the winners of the most similar problems of the same operator
// on the same device, as configurations of this space, nearest problem first.
func (s *search) warmStart() (ids []int64, from []string, err error) {
	if s.Store == nil || s.Fresh {
		return nil, nil, nil
	}
	kept, err := s.Store.Winners(s.problem.Operator.Name, s.device.Info().Name)
	if err != nil {
		return nil, nil, fmt.Errorf("start from the cache's winners: %w", err)
	}
	var records []Record
	for _, w := range kept {
		var r Record
		if json.Unmarshal(w.Result, &r) != nil || r.Winner == nil {
			continue
		}
		if s.Recheck && w.Problem != s.id {
			continue
		}
		if w.Problem == s.id {
			if w.Provenance.Key() == s.provenanceFor(w.Provenance.KernelDigest).Key() {
				continue // its trials count
			}
			s.warnings = append(s.warnings, fmt.Sprintf("the winner that the cache has was measured otherwise (driver %s, %s): it is tried first",
				cmp.Or(w.Provenance.Driver, "unknown"), cmp.Or(w.Provenance.Compiler, "compiler unknown")))
		}
		records = append(records, r)
	}
	here := Record{Problem: s.problem.Record(), Protocol: s.Protocol}
	slices.SortStableFunc(records, func(a, b Record) int {
		return cmp.Compare(distance(here, a), distance(here, b))
	})
	for _, r := range records {
		if len(from) == warmProblems {
			break
		}
		if id, ok := s.closest(r.Winner.Configuration); ok {
			from = append(from, s.originOf(r))
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids, from, nil
}

// closest is the configuration of this space that is nearest to one of another
// problem's: the same one, where it is valid here too.
func (s *search) closest(c space.Configuration) (int64, bool) {
	if id, ok := s.space.Index(c); ok {
		return id, true
	}
	for i, part := range s.space.Parts() {
		if part.Template != c.Template {
			continue
		}
		positions := make([]float64, len(part.Tunables))
		for at, tunable := range part.Tunables {
			v, known := c.Get(tunable.Name)
			rank := slices.IndexFunc(tunable.Values, v.Equal)
			if !known || rank < 0 || len(tunable.Values) < 2 {
				continue // its first value
			}
			positions[at] = float64(rank) / float64(len(tunable.Values)-1)
		}
		return s.space.Nearest(i, positions)
	}
	return 0, false
}

// originOf is a record's problem, with the conditions of its winner where this
// search has others.
func (s *search) originOf(r Record) string {
	if c := r.Protocol.Conditions; c != s.Protocol.Conditions {
		return fmt.Sprintf("%s (%s)", r.Problem.Text, c)
	}
	return r.Problem.Text
}

// distance says how unlike two searches of an operator are: a factor of two in a
// dimension counts one, as does another value of a parameter or math mode, or that
// they were timed under other conditions.
func distance(x, y Record) float64 {
	a, b, d := x.Problem, y.Problem, 0.0
	if x.Protocol.Conditions != y.Protocol.Conditions {
		d++
	}
	for i := range min(len(a.Shape), len(b.Shape)) {
		d += math.Abs(math.Log2(float64(a.Shape[i]) / float64(b.Shape[i])))
	}
	for _, p := range a.Parameters {
		if !slices.Contains(b.Parameters, p) {
			d++
		}
	}
	if a.Math != b.Math {
		d++
	}
	return d
}
