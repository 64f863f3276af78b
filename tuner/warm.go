package tuner

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"autotune/space"
	"autotune/tuner/ledger"
	"autotune/tuner/operator"
	"autotune/tuner/store"
)

// warmProblems is how many problems' winners a search starts from.
const warmProblems = 3

// similar are the records beside the winners of the same operator on the same device.
// This very problem's is left out if it was measured as it would be now: then its trials
// count. A recheck wants no other problem's.
func similar(kept *store.Store, book *ledger.Ledger, id store.ProblemID, recheck bool) (records []Record, warnings []string, err error) {
	winners, err := kept.Winners(id.Operator(), id.Device, false)
	if err != nil {
		return nil, nil, fmt.Errorf("start from the cache's winners: %w", err)
	}
	for _, w := range winners {
		var r Record
		same := w.Problem == id
		if json.Unmarshal(w.Result, &r) != nil || r.Winner == nil || recheck && !same || same && book.Same(w.Provenance) {
			continue
		}
		if same {
			warnings = append(warnings, fmt.Sprintf("the cached winner was measured %s: it is tried first", book.Difference(w.Provenance)))
		}
		records = append(records, r)
	}
	return records, warnings, nil
}

// nearestWinners are the winners of the records most like this search, as configurations
// of its space, and the problems that they are of.
func nearestWinners(records []Record, here Record, sp *space.Space) (ids []int64, from []string) {
	slices.SortStableFunc(records, func(a, b Record) int { return cmp.Compare(distance(here, a), distance(here, b)) })
	for _, r := range records {
		if len(from) == warmProblems {
			break
		}
		id, ok := closest(sp, r.Winner.Configuration)
		if !ok {
			continue
		}
		origin := r.Problem.Text
		if c := r.Protocol.Conditions; c != here.Protocol.Conditions {
			origin = fmt.Sprintf("%s (%s)", origin, c)
		}
		from = append(from, origin)
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, from
}

// closest is the configuration of a space that is nearest to one of another problem's: the
// same one, where it is valid here, too.
func closest(sp *space.Space, c space.Configuration) (int64, bool) {
	if id, ok := sp.Index(c); ok {
		return id, true
	}
	for i, part := range sp.Parts() {
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
		return sp.Nearest(i, positions)
	}
	return 0, false
}

// distance says how unlike two searches of an operator are. A factor of two in a
// dimension counts one. So does another value of a parameter or math mode, and so
// do other conditions of timing.
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

const (
	// likelyFirst is how many configurations are tried because their estimates are low.
	likelyFirst = 8
	// likelyOfTemplate is how many of them are one template's while others have estimates.
	// Estimates compare configurations of a template better than templates with each other.
	likelyOfTemplate = 5
	// likelyAmong is how many configurations of a template are estimated at most. A sample of
	// that many hardly misses the best of a million by more than a thousandth.
	likelyAmong = 4096
)

// likelyOf are the configurations with the lowest estimates, the lowest first, of those
// templates that have any. Each template gives likelyOfTemplate before one gives more. Two
// of a template differ in two tunables at least: one that differs in a single tunable is
// much the same, and the strategy finds it.
func likelyOf(problem *operator.Problem, sp *space.Space, seed uint64) ([]int64, error) {
	type estimated struct {
		id       int64
		part     int // of the space: its template's
		estimate float64
	}
	var all []estimated
	rng := rand.New(rand.NewPCG(seed, 0x11fe))
	for part, p := range sp.Parts() {
		if t, ok := problem.Operator.Template(p.Template); !ok || t.Estimate == nil {
			continue
		}
		first, end := sp.Range(part)
		for i := range min(end-first, likelyAmong) {
			id := first + i
			if end-first > likelyAmong {
				id = first + rng.Int64N(end-first)
			}
			x, err := problem.Estimate(sp.At(id))
			if err != nil {
				return nil, err
			}
			all = append(all, estimated{id, part, x})
		}
	}
	slices.SortStableFunc(all, func(a, b estimated) int { return cmp.Compare(a.estimate, b.estimate) })
	var chosen []int64
	of := map[int]int{} // chosen of a template, by its part
	for _, most := range []int{likelyOfTemplate, likelyFirst} {
		for _, e := range all {
			if len(chosen) == likelyFirst {
				return chosen, nil
			}
			if of[e.part] < most && !slices.ContainsFunc(chosen, func(id int64) bool { return alike(sp.At(id), sp.At(e.id)) }) {
				chosen = append(chosen, e.id)
				of[e.part]++
			}
		}
	}
	return chosen, nil
}

// afterLikely orders what is tried first. The lowest estimate comes first, so that slow ones
// are soon recognised beside it. Then come the untuned default, which speedups refer to, and
// the other low estimates.
func afterLikely(likely, others []int64) []int64 {
	one := func(ids []int64) int { return min(len(ids), 1) }
	return slices.Concat(likely[:one(likely)], others[:one(others)], likely[one(likely):], others[one(others):])
}

// alike tells whether two configurations are of one template and differ in one tunable at
// most.
func alike(a, b space.Configuration) bool {
	return a.Template == b.Template && a.Values.Differences(b.Values) < 2
}
