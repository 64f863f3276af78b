package operator

import (
	"slices"

	"autotune/operator/tree"
	"autotune/space"
	"autotune/space/expr"
)

// Metric is a quantity of an operator's own, computed of what is measured of a variant.
type Metric struct {
	Name    string  `json:"name"`
	Formula Formula `json:"expression"`
}

// measured are the names by which metrics know what is measured of a variant, and the
// unit of each.
var measured = map[string]string{
	"time": "seconds", "registers": "of a thread", "shared_bytes": "of a block",
	"local_bytes": "of a thread", "occupancy": "of 1",
}

// MeasuredNames are the names by which metrics know what is measured of a variant.
func MeasuredNames() []string { return sorted(measured) }

// Directions are the words for which end of a metric is the best.
func Directions() []string { return []string{"max", "min"} }

// metrics reads the operator's own metrics, over the problem's names, those of all
// templates, and what is measured. problem holds the first of these.
func (l *loader) metrics(n *tree.Node, problem scope) {
	if n == nil {
		return
	}
	names := problem.with("device limit", limitNames...)
	for _, t := range l.o.Templates {
		for _, tunable := range t.Tunables {
			names[tunable.Name] = "tunable"
		}
		for _, d := range t.Derived {
			names[d.Name] = "derived value"
		}
	}
	own := append(MeasuredNames(), "bytes", "flops")
	for _, name := range own {
		if what := names[name]; what != "" {
			n.Refuse("metrics know `%s` as a measurement; the %s of that name must be called otherwise", name, what)
		}
	}
	names = names.with("measurement", own...)
	for _, e := range l.named(n, "metrics must be a mapping of names to expressions") {
		if what := names[e.Key]; what != "" {
			e.Refuse("the metric `%s` has the name of a %s", e.Key, what)
		}
		l.o.Metrics = append(l.o.Metrics, Metric{e.Key, l.over(names)(e.Value)})
	}
}

func (o *Operator) Metric(name string) (Metric, bool) {
	at := slices.IndexFunc(o.Metrics, func(m Metric) bool { return m.Name == name })
	if at < 0 {
		return Metric{}, false
	}
	return o.Metrics[at], true
}

// Needs are the measurements that the metric is computed of.
func (m Metric) Needs() []string {
	return slices.DeleteFunc(m.Formula.code.Names(), func(name string) bool { return measured[name] == "" })
}

// Metrics are the operator's own metrics of a variant, without those whose measurements are not
// known.
func (p *Problem) Metrics(c space.Configuration, measured map[string]float64) map[string]float64 {
	t, ok := p.Operator.Template(c.Template)
	if !ok || len(p.Operator.Metrics) == 0 {
		return nil
	}
	known, err := useOf(p, t).at(c.Values)
	if err != nil {
		return nil
	}
	env := known.env
	env["bytes"], env["flops"] = expr.Int(p.Bytes), expr.Int(p.Flops)
	for name, x := range measured {
		env[name] = expr.Float(x)
	}
	values := map[string]float64{}
	for _, m := range p.Operator.Metrics {
		v, err := m.Formula.code.Eval(env) // a measurement that is not known is an undefined name: an error
		if x, number := v.AsFloat(); err == nil && number {
			values[m.Name] = x
		}
	}
	if len(values) == 0 {
		return nil
	}
	return values
}
