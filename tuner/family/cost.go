package family

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"autotune/space/expr"
)

// A cost says in femtoseconds what a kernel is expected to take, by a formula in integers: a start,
// something for each wave of blocks, and something for each block. In the place of blocks stands
// whatever integer of the kernel's formulas explains its times at the samples best.

// count is an integer that a kernel's time may grow with.
type count struct {
	text   string
	values []float64 // by sample
}

// cost is a formula before it is written.
type cost struct {
	text              string  // of the count
	start, wave, each float64 // milliseconds
	in                float64 // how many are a wave
}

// formula writes the mean of costs. A femtosecond is little enough for an element of a tensor.
func formula(all []cost) string {
	femtoseconds := 1e12 / float64(len(all)) // of a millisecond
	start := 0.0
	var parts []string
	for _, c := range all {
		start += c.start
		if c.wave > 0 {
			parts = append(parts, fmt.Sprintf("%.0f*ceil_div(%s, %.0f)", c.wave*femtoseconds, c.text, c.in))
		}
		if c.each > 0 {
			parts = append(parts, fmt.Sprintf("%.0f*%s", c.each*femtoseconds, factor(c.text)))
		}
	}
	return strings.Join(append([]string{fmt.Sprintf("%.0f", start*femtoseconds)}, parts...), " + ")
}

// factor is a formula as it stands in a product.
func factor(text string) string {
	if strings.ContainsAny(text, " +-*/<>") {
		return "(" + text + ")"
	}
	return text
}

// timesOf are a kernel's times at samples, and what they may grow with.
type timesOf struct {
	samples []int // that it serves
	ms      []float64
	counts  []count
}

// farOff is how many times the own best a time may be. A time beyond it says something about that
// one measurement.
const farOff = 20

// enoughTimes is how many samples a kernel serves that needs no others' times for its cost.
const enoughTimes = 5

// timesOf collects what the cost of a candidate is made from. One that serves few samples borrows the times
// of the same configuration as it is compiled for others.
func (t *tuning) timesOf(candidate int, rounds func(lap) float64) (o timesOf) {
	c := &t.candidates[candidate]
	var at []map[string]expr.Value
	add := func(number int) {
		for i, s := range t.samples {
			if ms := s.ms(number, rounds); ms < farOff*s.ownBest(rounds) && !slices.Contains(o.samples, i) {
				values, _ := t.candidates[number].formulas.At(s.problem.Values)
				o.samples, o.ms, at = append(o.samples, i), append(o.ms, ms), append(at, values)
			}
		}
	}
	add(candidate)
	for number, other := range t.candidates {
		if len(o.samples) < enoughTimes && other.Configuration.Key() == c.Configuration.Key() {
			add(number)
		}
	}
	for _, e := range t.counted(c) {
		one := count{text: e.String()}
		for _, values := range at {
			v, err := e.Eval(values)
			n, isInt := v.AsInt()
			if err != nil || !isInt || n < 0 {
				break
			}
			one.values = append(one.values, float64(n))
		}
		same := func(other count) bool { return slices.Equal(one.values, other.values) }
		if len(one.values) == len(o.samples) && !slices.ContainsFunc(o.counts, same) {
			o.counts = append(o.counts, one)
		}
	}
	return o
}

// squaresOf are what the costs of the entries are made from.
func (t *tuning) squaresOf(chosen []int, rounds func(lap) float64) (all [][]squares) {
	var times []timesOf
	floor := math.Inf(1)
	for _, c := range chosen {
		o := t.timesOf(c, rounds)
		times = append(times, o)
		for _, ms := range o.ms {
			floor = min(floor, ms)
		}
	}
	for _, o := range times {
		all = append(all, o.squaresOf(int64(t.samples[0].problem.Limits.SMs), floor))
	}
	return all
}

// counted are the integers of a candidate's formulas: names, blocks of a launch, and the free
// dimensions' product.
func (t *tuning) counted(c *candidate) (all []*expr.Expr) {
	names := map[string]bool{}
	for _, f := range c.formulas.Where {
		for _, name := range f.Code().Names() {
			names[name] = true
		}
	}
	for _, d := range c.formulas.Define {
		names[d.Name] = true
	}
	texts := []string{strings.Join(t.plan.Request.Free, "*")}
	for _, l := range c.formulas.Launches {
		var blocks []string
		for _, extent := range l.Grid {
			if extent.Text != "1" {
				blocks = append(blocks, factor(extent.Text))
			}
		}
		texts = append(texts, strings.Join(blocks, "*"))
	}
	for name := range names {
		texts = append(texts, name)
	}
	slices.Sort(texts)
	for _, text := range texts {
		if e, err := expr.Parse(text); err == nil {
			all = append(all, e)
		}
	}
	return all
}

// wavesOf are how many blocks of a multiprocessor may be a wave.
var wavesOf = []float64{1, 2, 3, 4, 5, 6, 8, 12, 16}

// terms are what a cost adds up: the start, the waves, and each block, counted in waves.
const terms = 3

// equations are the left sides, and at last the right one.
type equations [terms][terms + 1]float64

// squares are the normal equations of the costs with one count: how far off they are relatively, by
// the squares. What a sample adds can be taken away again.
type squares struct {
	text  string
	in    float64
	floor float64                // the least time of any kernel, milliseconds
	rows  map[int][terms]float64 // by sample
	all   equations
}

// squaresOf are those of all counts of a kernel.
func (o timesOf) squaresOf(sms int64, floor float64) (all []squares) {
	for _, c := range o.counts {
		for _, blocks := range wavesOf {
			one := squares{text: c.text, in: blocks * float64(sms), floor: floor, rows: map[int][terms]float64{}}
			for i, sample := range o.samples {
				waves := c.values[i] / one.in
				row := [terms]float64{1 / o.ms[i], math.Ceil(waves) / o.ms[i], waves / o.ms[i]}
				one.rows[sample] = row
				one.all.add(row, 1)
			}
			all = append(all, one)
		}
	}
	return all
}

func (e *equations) add(row [terms]float64, times float64) {
	for i := range row {
		for j := range row {
			e[i][j] += times * row[i] * row[j]
		}
		e[i][terms] += times * row[i]
	}
}

// but are the equations without a sample, and how many samples they are of.
func (s squares) but(without int) (of equations, n float64) {
	of, n = s.all, float64(len(s.rows))
	if row, counted := s.rows[without]; counted {
		of.add(row, -1)
		n--
	}
	return of, n
}

// together is how many costs, each with a count of its own, have their mean taken: what one count misses, another may
// have.
const together = 2

// fit are the costs that are nearest to the times at all samples but one. A cost with more numbers must
// be nearer. Where samples are few there is one of one number, above the floor. None: no sample is left.
func fit(all []squares, without int) (nearest []cost) {
	var found []near
	for _, s := range all {
		of, n := s.but(without)
		for _, which := range [][]int{{0, 1, 2}, {0, 1}, {0, 2}} {
			x, fits := of.solve(which)
			freedom := n - float64(len(which))
			if !fits || freedom < 2 {
				continue
			}
			off := n
			for i := range x {
				off -= x[i] * of[i][terms]
			}
			if !math.IsNaN(off) {
				found = append(found, near{cost{s.text, x[0], x[1], x[2] / s.in, s.in}, off / (freedom * freedom)})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return cmp.Compare(a.off, b.off) })
	for _, f := range found {
		if len(nearest) < together && !slices.ContainsFunc(nearest, func(c cost) bool { return c.text == f.text }) {
			nearest = append(nearest, f.cost)
		}
	}
	if one, ok := fitOne(all, without); ok && len(nearest) == 0 {
		return []cost{one}
	}
	return nearest
}

// near is a cost, and how far it is off: by the squares, relatively.
type near struct {
	cost
	off float64
}

// fitOne is the nearest cost that adds one number a block to the floor.
func fitOne(all []squares, without int) (best cost, ok bool) {
	least := math.Inf(1)
	for _, s := range all {
		of, n := s.but(without)
		const each = terms - 1
		if n < 1 || of[each][each] <= 0 {
			continue
		}
		right := of[each][terms] - s.floor*of[0][each]
		x := max(0, right/of[each][each])
		off := n - 2*s.floor*of[0][terms] + s.floor*s.floor*of[0][0] - 2*x*right + x*x*of[each][each]
		if off < least-1e-12 {
			best, least, ok = cost{s.text, s.floor, 0, x / s.in, s.in}, off, true
		}
	}
	return best, ok
}

// solve finds the numbers of some terms, none of them negative, by elimination.
func (e *equations) solve(which []int) (x [terms]float64, ok bool) {
	var m equations
	for i, from := range which {
		for j, of := range which {
			m[i][j] = e[from][of]
		}
		m[i][terms] = e[from][terms]
	}
	for i := range which {
		if m[i][i] < 1e-9*e[which[i]][which[i]] {
			return x, false // it goes with those before
		}
		for k := i + 1; k < len(which); k++ {
			for j, part := terms, m[k][i]/m[i][i]; j >= i; j-- {
				m[k][j] -= part * m[i][j]
			}
		}
	}
	for i := len(which) - 1; i >= 0; i-- {
		rest := m[i][terms]
		for k := i + 1; k < len(which); k++ {
			rest -= m[i][k] * x[which[k]]
		}
		if x[which[i]] = rest / m[i][i]; x[which[i]] < 0 {
			return x, false
		}
	}
	return x, true
}

// costs are the entries' costs by all samples but one; -1: by all. Not ok: an entry has too few.
func costs(entries [][]squares, without int) (all []*expr.Expr, ok bool) {
	for _, one := range entries {
		nearest := fit(one, without)
		e, err := expr.Parse(formula(nearest))
		if err != nil || len(nearest) == 0 {
			return nil, false
		}
		all = append(all, e)
	}
	return all, true
}

// leastCost is the entry with the least cost of those that serve a shape; -1: none does.
func (t *tuning) leastCost(costs []*expr.Expr, s *timed, chosen []int) int {
	entry, least := -1, int64(math.MaxInt64)
	for at, c := range chosen {
		values, ok := t.candidates[c].at(s.problem)
		if !ok {
			continue
		}
		v, err := costs[at].Eval(values)
		if n, isInt := v.AsInt(); err == nil && isInt && n < least {
			entry, least = at, n
		}
	}
	return entry
}
