package family

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"autotune/space/expr"
)

// A cost says in femtoseconds what a kernel is expected to take, by a formula in integers: a start,
// something for each wave of blocks, and something for each block. In the place of blocks stands
// whatever integer of the kernel's formulas explains its times best.

// count is an integer that a kernel's time may grow with.
type count struct {
	text   string
	values []float64 // by shape
}

// cost is a formula before it is written.
type cost struct {
	text              string  // of the count
	start, wave, each float64 // milliseconds
	in                float64 // how many are a wave
}

// formula writes a cost. A femtosecond is little enough for an element of a tensor.
func (c cost) formula() string {
	const femtoseconds = 1e12 // of a millisecond
	text := fmt.Sprintf("%.0f", c.start*femtoseconds)
	if c.wave > 0 {
		text += fmt.Sprintf(" + %.0f*ceil_div(%s, %.0f)", c.wave*femtoseconds, c.text, c.in)
	}
	if c.each > 0 {
		text += fmt.Sprintf(" + %.0f*%s", c.each*femtoseconds, factor(c.text))
	}
	return text
}

// factor is a formula as it stands in a product.
func factor(text string) string {
	if strings.ContainsAny(text, " +-*/<>") {
		return "(" + text + ")"
	}
	return text
}

// timesOf are a kernel's times at shapes, and what they may grow with.
type timesOf struct {
	shapes []int // that it serves
	ms     []float64
	counts []count
}

// farOff is how many times the own best a time may be. A time beyond it says something about that
// one measurement.
const farOff = 20

// timesOf collects what the cost of a candidate is made from.
func (t *tuning) timesOf(candidate int, rounds func(lap) float64) (o timesOf) {
	c := &t.candidates[candidate]
	var at []map[string]expr.Value
	for i, s := range t.timed() {
		if ms := s.ms(candidate, rounds); ms < farOff*s.ownBest(rounds) {
			o.shapes, o.ms, at = append(o.shapes, i), append(o.ms, ms), append(at, s.at(candidate))
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
		if len(one.values) == len(o.shapes) && !slices.ContainsFunc(o.counts, same) {
			o.counts = append(o.counts, one)
		}
	}
	return o
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

func (e *equations) add(row [terms]float64) {
	for i := range row {
		for j := range row {
			e[i][j] += row[i] * row[j]
		}
		e[i][terms] += row[i]
	}
}

// fit is the cost that is nearest to the times at some shapes, relatively, by the squares. A cost with more numbers
// must be nearer. Not ok: there are too few shapes.
func (o timesOf) fit(sms int64, with func(shape int) bool) (best cost, ok bool) {
	least := math.Inf(1)
	for _, c := range o.counts {
		for _, blocks := range wavesOf {
			in, n := blocks*float64(sms), 0.0
			var of equations
			for i, shape := range o.shapes {
				if waves := c.values[i] / in; with(shape) {
					of.add([terms]float64{1 / o.ms[i], math.Ceil(waves) / o.ms[i], waves / o.ms[i]})
					n++
				}
			}
			for _, which := range [][]int{{2}, {0, 2}, {0, 1}, {0, 1, 2}} {
				x, fits := of.solve(which)
				freedom := n - float64(len(which))
				if !fits || freedom < 0 {
					continue
				}
				off := n
				for i := range x {
					off -= x[i] * of[i][terms]
				}
				if off = max(off, 1e-9) / max(freedom*freedom, 1); off < least*(1-1e-9) {
					best, least, ok = cost{c.text, x[0], x[1], x[2] / in, in}, off, true
				}
			}
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

// costs are the entries' costs by some of the shapes. Not ok: an entry has too few.
func costs(entries []timesOf, sms int64, with func(shape int) bool) (all []*expr.Expr, ok bool) {
	for _, o := range entries {
		c, fits := o.fit(sms, with)
		e, err := expr.Parse(c.formula())
		if err != nil || !fits {
			return nil, false
		}
		all = append(all, e)
	}
	return all, true
}

// leastCost is the entry with the least cost of those that serve a shape; -1: none does.
func leastCost(costs []*expr.Expr, s *timed, chosen []int) int {
	entry, least := -1, int64(math.MaxInt64)
	for at, c := range chosen {
		values := s.at(c)
		if values == nil {
			continue
		}
		v, err := costs[at].Eval(values)
		if n, isInt := v.AsInt(); err == nil && isInt && n < least {
			entry, least = at, n
		}
	}
	return entry
}
