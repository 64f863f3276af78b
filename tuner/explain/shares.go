package explain

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"autotune/tuner/trial"
)

// Share is the part of the differences between the times of a template's trials that goes
// with something, from 0 to 1. The differences are of logarithms. It is corrected for chance:
// a tunable that does nothing has 0 on average. The trials are those that a search chose, so
// tunables that changed together share what they explain.
type Share struct {
	Part float64    `json:"part"`
	CI95 [2]float64 `json:"ci95"` // by leaving out a tenth of the trials at a time
}

// Sure tells whether it is more than chance.
func (s *Share) Sure() bool { return s != nil && s.CI95[0] > 0 }

// Pair is what two tunables explain together beyond what they explain one by one.
type Pair struct {
	Names [2]string `json:"names"`
	Share Share     `json:"share"`
}

const (
	leastTrials = 20   // for a share
	mostTrials  = 4000 // that are looked at
	folds       = 10   // of the jackknife
	mostPairs   = 3    // that are told
)

// sample is what the decomposition looks at: the logarithm of each trial's time, and which
// value each tunable has.
type sample struct {
	times  []float64
	values [][]int // by tunable and trial
	levels []int   // how many values each tunable has
}

func sampleOf(trials []trial.Trial, tunables []Tunable) *sample {
	every := (len(trials) + mostTrials - 1) / mostTrials
	s := &sample{values: make([][]int, len(tunables)), levels: make([]int, len(tunables))}
	known := make([]map[string]int, len(tunables))
	for i := range known {
		known[i] = map[string]int{}
	}
	for at := 0; at < len(trials); at += max(1, every) {
		t := trials[at]
		if !(t.Time.Median > 0) {
			continue
		}
		s.times = append(s.times, math.Log(t.Time.Median))
		for i, tunable := range tunables {
			value, _ := t.Get(tunable.Name)
			level, has := known[i][value.String()]
			if !has {
				level = len(known[i])
				known[i][value.String()] = level
			}
			s.values[i] = append(s.values[i], level)
			s.levels[i] = len(known[i])
		}
	}
	return s
}

// without leaves out one fold of the trials.
func (s *sample) without(fold int) *sample {
	left := &sample{values: make([][]int, len(s.values)), levels: s.levels}
	for at, x := range s.times {
		if at%folds == fold {
			continue
		}
		left.times = append(left.times, x)
		for i := range s.values {
			left.values[i] = append(left.values[i], s.values[i][at])
		}
	}
	return left
}

// share is what a tunable explains alone; nil if the trials do not tell.
func (s *sample) share(tunable int) *Share {
	if len(s.times) < leastTrials || s.levels[tunable] < 2 {
		return nil
	}
	return s.jackknife(func(of *sample) float64 { return of.alone(tunable) })
}

// jackknife is a part, with an interval from the samples that lack a tenth each.
func (s *sample) jackknife(part func(*sample) float64) *Share {
	parts := make([]float64, folds)
	for fold := range folds {
		parts[fold] = part(s.without(fold))
	}
	all := part(s)
	_, variance := stat.MeanVariance(parts, nil)
	spread := math.Sqrt(variance) * (folds - 1) / math.Sqrt(folds) * distuv.StudentsT{Sigma: 1, Nu: folds - 1}.Quantile(0.975)
	within := func(x float64) float64 { return min(1, max(0, x)) }
	return &Share{Part: within(all), CI95: [2]float64{within(all - spread), within(all + spread)}}
}

// alone is the adjusted share of variance between the groups of one tunable.
func (s *sample) alone(tunable int) float64 {
	groups, residual := s.grouped(s.values[tunable], s.levels[tunable])
	return s.adjusted(residual, groups)
}

// grouped is how many groups there are, and the sum of squares within them.
func (s *sample) grouped(of []int, levels int) (groups int, within float64) {
	sum, count := make([]float64, levels), make([]float64, levels)
	for i, x := range s.times {
		sum[of[i]] += x
		count[of[i]]++
	}
	for i, x := range s.times {
		d := x - sum[of[i]]/count[of[i]]
		within += d * d
	}
	for _, n := range count {
		if n > 0 {
			groups++
		}
	}
	return groups, within
}

// adjusted is the part of the variance that a model with so many parameters explains, beyond
// what chance gives it.
func (s *sample) adjusted(residual float64, parameters int) float64 {
	n := float64(len(s.times))
	_, total := stat.MeanVariance(s.times, nil)
	if total <= 1e-12 || n <= float64(parameters) {
		return 0
	}
	return 1 - residual/(n-float64(parameters))/total
}

// additive is the sum of squares that two tunables leave whose effects add up, and how many
// parameters that takes. It is fitted by turns.
func (s *sample) additive(a, b int) (parameters int, residual float64) {
	const turns = 30
	left := slices.Clone(s.times)
	for range turns {
		for _, tunable := range []int{a, b} {
			sum, count := make([]float64, s.levels[tunable]), make([]float64, s.levels[tunable])
			for i, level := range s.values[tunable] {
				sum[level] += left[i]
				count[level]++
			}
			for i, level := range s.values[tunable] {
				left[i] -= sum[level] / count[level]
			}
		}
	}
	for _, x := range left {
		residual += x * x
	}
	groupsA, _ := s.grouped(s.values[a], s.levels[a])
	groupsB, _ := s.grouped(s.values[b], s.levels[b])
	return groupsA + groupsB - 1, residual
}

// together is what two tunables explain together beyond their sum.
func (s *sample) together(a, b int) float64 {
	cells := make([]int, len(s.times))
	for i := range cells {
		cells[i] = s.values[a][i]*s.levels[b] + s.values[b][i]
	}
	groups, within := s.grouped(cells, s.levels[a]*s.levels[b])
	parameters, residual := s.additive(a, b)
	return s.adjusted(within, groups) - s.adjusted(residual, parameters)
}

// pairs are those that matter most, and more than chance.
func (s *sample) pairs(tunables []Tunable) (list []Pair) {
	if len(s.times) < leastTrials {
		return nil
	}
	for a := range tunables {
		for b := range a {
			if s.levels[a] < 2 || s.levels[b] < 2 || s.together(b, a) < 0.01 {
				continue
			}
			share := s.jackknife(func(of *sample) float64 { return of.together(b, a) })
			if share.Sure() {
				list = append(list, Pair{[2]string{tunables[b].Name, tunables[a].Name}, *share})
			}
		}
	}
	slices.SortStableFunc(list, func(x, y Pair) int { return cmp.Compare(y.Share.Part, x.Share.Part) })
	return list[:min(len(list), mostPairs)]
}
