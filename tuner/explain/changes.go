package explain

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"autotune/internal/lists"
	"autotune/space"
	"autotune/tuner/trial"
)

// Together is a change of the winner in two tunables at once.
type Together struct {
	Names  [2]string `json:"names"`
	Values [2]string `json:"values"`
	Cost
}

// String is the change without its cost: "a=1 with b=2".
func (t Together) String() string {
	return fmt.Sprintf("%s=%s with %s=%s", t.Names[0], t.Values[0], t.Names[1], t.Values[1])
}

// How many changes are worth a measurement: in all, and of pairs.
const (
	mostChanges  = 48
	mostTogether = 12
)

// Changes are the configurations to be timed beside the winner: each tunable at its default and
// at its neighbours, and pairs that matter. A pair matters if the trials say so, or if a value
// is valid only with another value of a second tunable.
func (s Subject) Changes(ctx context.Context) []space.Configuration {
	if s.Problem == nil {
		return nil
	}
	declared, defaults := s.template(ctx)
	w := s.Winner
	steps := make([][]space.Value, len(w.Values))
	for i, v := range w.Values {
		steps[i] = nearest(declared[v.Name], v)
		if value, ok := defaults.Get(v.Name); ok {
			steps[i] = append(steps[i], space.Value{Name: v.Name, Value: value})
		}
	}
	c := changes{subject: s, known: map[string]bool{w.Key(): true}}
	for i := range steps {
		for _, v := range steps[i] {
			c.add(map[int]space.Value{i: v})
		}
	}
	alone := len(c.list)
	c.pairs(steps, s.matter(ctx))
	c.list = c.list[:min(len(c.list), alone+mostTogether)]
	return c.list[:min(len(c.list), mostChanges)]
}

// nearest are the declared values on both sides of one.
func nearest(declared []space.Value, of space.Value) (list []space.Value) {
	at := place(declared, of.Value.String())
	for _, next := range []int{at - 1, at + 1} {
		if at >= 0 && next >= 0 && next < len(declared) {
			list = append(list, declared[next])
		}
	}
	return list
}

// changes gathers configurations near a winner, each once.
type changes struct {
	subject Subject
	known   map[string]bool
	list    []space.Configuration
}

// add adds the winner with other values, if that is valid.
func (c *changes) add(values map[int]space.Value) (valid bool) {
	w := c.subject.Winner
	other := space.Configuration{Template: w.Template, Values: slices.Clone(w.Values)}
	for at, v := range values {
		other.Values[at] = v
	}
	if !c.subject.Problem.Admits(other) {
		return false
	}
	if key := other.Key(); !c.known[key] {
		c.known[key] = true
		c.list = append(c.list, other)
	}
	return true
}

// pairs adds what is changed in two tunables: of the pairs that matter each step with each, and
// a step that is not valid alone with the first that makes it so.
func (c *changes) pairs(steps [][]space.Value, matter [][2]int) {
	for _, pair := range matter {
		for _, x := range steps[pair[0]] {
			for _, y := range steps[pair[1]] {
				c.add(map[int]space.Value{pair[0]: x, pair[1]: y})
			}
		}
	}
	for a := range steps {
		for _, x := range steps[a] {
			if c.add(map[int]space.Value{a: x}) {
				continue
			}
			c.enable(steps, a, x)
		}
	}
}

// enable adds a step with the first of another tunable that makes it valid.
func (c *changes) enable(steps [][]space.Value, a int, x space.Value) {
	for b := range steps {
		for _, y := range steps[b] {
			if a != b && c.add(map[int]space.Value{a: x, b: y}) {
				return
			}
		}
	}
}

// matter are the pairs of tunables that the trials name, and else the two that the time depends
// on most.
func (s Subject) matter(ctx context.Context) (list [][2]int) {
	e := Of(ctx, s)
	at := func(name string) int {
		return slices.IndexFunc(e.Tunables, func(t Tunable) bool { return t.Name == name })
	}
	list = append(list, lists.Of(e.Pairs, func(p Pair) [2]int { return [2]int{at(p.Names[0]), at(p.Names[1])} })...)
	if len(list) > 0 || len(e.Tunables) < 2 {
		return list
	}
	order := lists.Places(len(e.Tunables))
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(e.Tunables[b].Share.part(), e.Tunables[a].Share.part())
	})
	return [][2]int{{order[0], order[1]}}
}

// together are the trials that differ from the winner in two tunables, those measured in turns
// with it.
func (s Subject) together() (list []Together) {
	w := s.Winner
	for _, t := range s.Measured {
		at := differing(w.Configuration, t.Configuration)
		if len(at) != 2 {
			continue
		}
		one := Together{Cost: turned(t, w)}
		for i, place := range at {
			one.Names[i], one.Values[i] = w.Values[place].Name, valueOf(w, t.Trial, place)
		}
		list = append(list, one)
	}
	slices.SortStableFunc(list, func(a, b Together) int { return cmp.Compare(a.Ratio, b.Ratio) })
	return list
}

// turned is what a trial costs that took turns with the winner.
func turned(t trial.Turned, w trial.Trial) Cost {
	c := cost(w, t.Trial)
	if t.Ratio > 0 && t.CI95[0] > 0 {
		c.Ratio, c.CI95, c.Measured = t.Ratio, t.CI95, true
	}
	return c
}

// costAlone is what one value costs, changed alone.
func (e Explanation) costAlone(name, value string) (Cost, bool) {
	for _, t := range e.Tunables {
		for _, n := range t.Neighbours {
			if t.Name == name && n.Value == value {
				return n.Cost, true
			}
		}
	}
	return Cost{}, false
}

// beyond names the change of two tunables whose cost differs most from the sum of both alone.
func (e Explanation) beyond() string {
	var most Together
	var text string
	furthest := beyondNoise
	for _, t := range e.Together {
		a, knownA := e.costAlone(t.Names[0], t.Values[0])
		b, knownB := e.costAlone(t.Names[1], t.Values[1])
		if !knownA || !knownB || t.Ratio <= 0 || a.Ratio <= 0 || b.Ratio <= 0 {
			continue
		}
		if d := math.Abs(math.Log(t.Ratio / a.Ratio / b.Ratio)); d > furthest {
			furthest, most = d, t
			text = fmt.Sprintf("Two tunables go together: %s is %s, where alone they are %s and %s.", most, most.Cost, a, b)
		}
	}
	return text
}

// beyondNoise is by how much, as a logarithm, the cost of two changes must differ from their sum to
// be mentioned.
const beyondNoise = 0.02

// faster says that a change measured now is faster than the winner.
func (e Explanation) faster() string {
	text, least := "", 1-trial.Resolution
	try := func(what string, c Cost) {
		if c.Measured && c.Status == trial.OK && c.CI95[1] < least {
			least = c.CI95[1]
			text = fmt.Sprintf("Measured now, %s is faster than the winner (%s): a longer search may gain that.", what, c)
		}
	}
	for _, t := range e.Tunables {
		for _, n := range t.Neighbours {
			try(t.Name+"="+n.Value, n.Cost)
		}
	}
	for _, t := range e.Together {
		try(t.String(), t.Cost)
	}
	return text
}
