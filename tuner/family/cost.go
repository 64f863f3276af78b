package family

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/space/expr"
	"autotune/tuner/operator"
)

// A cost says in femtoseconds what a kernel is expected to take, by a formula in integers: a start, something for each
// of some integers of the kernel's formulas, as blocks or elements, and something for each wave of them.

// count is an integer that a kernel's time may grow with.
type count struct {
	text   string
	values []float64 // by shape
}

// waves are how many waves of so many a count makes.
func (c count) waves(in int64) count {
	one := count{text: fmt.Sprintf("ceil_div(%s, %d)", c.text, in)}
	for _, v := range c.values {
		one.values = append(one.values, math.Ceil(v/float64(in)))
	}
	return one
}

// term is a part of a cost: so many milliseconds for each of a count; "": once.
type term struct {
	text string
	each float64
}

// formula writes a cost. A femtosecond is little enough for an element of a tensor.
func formula(cost []term) string {
	const femtoseconds = 1e12 // of a millisecond
	var parts []string
	for _, t := range cost {
		part := fmt.Sprintf("%.0f", t.each*femtoseconds)
		if t.text != "" {
			part += "*" + factor(t.text)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " + ")
}

// factor is a formula as it stands in a product.
func factor(text string) string {
	if strings.ContainsAny(text, " +-*/<>") && !strings.HasPrefix(text, "ceil_div(") {
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

// timesOf collects what the cost of a candidate is made from: times of its configuration, also of those chosen that are
// compiled for other shapes.
func (t *tuning) timesOf(candidate int, chosen []int, rounds func(lap) float64) (o timesOf) {
	c := &t.candidates[candidate]
	var at []map[string]expr.Value
	same := lists.Where(chosen, func(i int) bool { return t.candidates[i].Configuration.Key() == c.Configuration.Key() })
	for i, s := range t.timed() {
		far := farOff * s.ownBest(rounds)
		if one, served := lists.First(same, func(number int) bool { return s.ms(number, rounds) < far }); served {
			o.shapes, o.ms, at = append(o.shapes, i), append(o.ms, s.ms(one, rounds)), append(at, s.at(one))
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
		known := func(other count) bool { return slices.Equal(one.values, other.values) }
		if len(one.values) == len(o.shapes) && !slices.ContainsFunc(o.counts, known) {
			o.counts = append(o.counts, one)
		}
	}
	o.counts = withWaves(o.counts, t.sms())
	return o
}

// counted are the integers of a candidate's formulas: names, blocks of a launch, the free dimensions'
// product, and what is positive from a listed value on.
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
		if !operator.IsInverse(name) {
			texts = append(texts, name)
		}
	}
	texts = append(texts, t.plan.fromListed()...)
	slices.Sort(texts)
	for _, text := range texts {
		if e, err := expr.Parse(text); err == nil {
			all = append(all, e)
		}
	}
	return all
}

// wavesOf are how many blocks of a multiprocessor may be a wave.
var wavesOf = []int64{1, 2, 4, 8, 16}

// withWaves are counts, each with its waves behind it, of those that some shape has more than one of.
func withWaves(counts []count, sms int64) (all []count) {
	for _, c := range counts {
		all = append(all, c)
		for _, blocks := range wavesOf {
			wave := blocks * sms
			if slices.ContainsFunc(c.values, func(v float64) bool { return v > float64(wave) }) {
				all = append(all, c.waves(wave))
			}
		}
	}
	return all
}

// How a cost is fitted: a term must be worth something, or formulas grow long, and the terms are settled in turns.
const (
	termPrice = 1e-3 // by how much a term makes the mean square less, counted twice
	settled   = 300
	fewTerms  = 1e-9 // a part of the time that is none
)

// fit is the cost that is nearest to the times at some shapes, relatively, by the squares. No term is negative. Not
// ok: there is no shape.
func (o timesOf) fit(with func(shape int) bool) (cost []term, ok bool) {
	var rows []int
	for i, shape := range o.shapes {
		if with(shape) {
			rows = append(rows, i)
		}
	}
	if len(rows) == 0 {
		return nil, false
	}
	counts := append([]count{{values: slices.Repeat([]float64{1}, len(o.ms))}}, o.counts...)
	columns := lists.Of(counts, func(c count) []float64 {
		return lists.Of(rows, func(i int) float64 { return c.values[i] / o.ms[i] })
	})
	for i, x := range nonNegative(columns) {
		if x > 0 {
			cost = append(cost, term{counts[i].text, x})
		}
	}
	return cost, len(cost) > 0
}

// nonNegative are the factors of columns whose sum is nearest to one in each row.
func nonNegative(columns [][]float64) []float64 {
	n := float64(len(columns[0]))
	products := make([][]float64, len(columns)) // of columns that have the length of one in the mean
	sums, lengths, x := make([]float64, len(columns)), make([]float64, len(columns)), make([]float64, len(columns))
	for i, c := range columns {
		lengths[i] = math.Sqrt(dot(c, c) / n)
		for _, v := range c {
			sums[i] += v / n / max(lengths[i], math.SmallestNonzeroFloat64)
		}
	}
	for i, a := range columns {
		for j, b := range columns {
			products[i] = append(products[i], dot(a, b)/n/max(lengths[i]*lengths[j], math.SmallestNonzeroFloat64))
		}
	}
	for range settled {
		for i := range x {
			if lengths[i] > 0 {
				x[i] = max(0, x[i]+sums[i]-termPrice-dot(products[i], x))
			}
		}
	}
	for i := range x {
		if x[i] < fewTerms || lengths[i] == 0 {
			x[i] = 0
			continue
		}
		x[i] /= lengths[i]
	}
	return x
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// costs are the entries' costs by some of the shapes. Not ok: an entry has too few.
func costs(entries []timesOf, with func(shape int) bool) (all []*expr.Expr, ok bool) {
	for _, o := range entries {
		c, fits := o.fit(with)
		if !fits {
			return nil, false
		}
		e, err := expr.Parse(formula(c))
		if err != nil {
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
