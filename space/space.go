package space

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"autotune/internal/lists"
	"autotune/space/expr"
)

// Tunable is a parameter of a template whose value a search chooses.
type Tunable struct {
	Name   string       `json:"name"`
	Values []expr.Value `json:"values"` // in the order that Adjacent neighbours follow
}

type Part struct {
	Template    string
	Tunables    []Tunable
	Constraints []*expr.Expr          // all must be true for a configuration to be valid
	Constants   map[string]expr.Value // further names that constraints may use
	Definitions map[string]*expr.Expr // names of expressions over tunables, constants and each other
}

// maxNodes bounds the nodes of a part's decision diagram, and so its memory. The number of nodes in a diagram depends
// on how strongly constraints connect tunables, and little on the number of configurations.
const maxNodes = 1_000_000

// Space is the union of the valid configurations of its parts, numbered from 0 to Len()-1, part after part. A Space is
// safe for concurrent use.
type Space struct {
	parts []*part
	first []int64 // first[p] is the number of part p's first configuration
	total int64
	axes  axes
}

type part struct {
	Part
	position []map[expr.Value]int // tunable -> value -> its index
	diagram  *diagram
}

// ErrTooLarge says that the decision diagram of a space would be too large.
var ErrTooLarge = errors.New("the space is too large")

// New builds the space that is the union of the given parts. New returns the context's error soon after the context
// ends.
func New(ctx context.Context, parts ...Part) (*Space, error) {
	return union(parts, func(p Part) (*part, error) { return newPart(ctx, p, maxNodes) })
}

// union builds a space from several sources of parts; the function ready turns each source into a part.
func union[P any](sources []P, ready func(P) (*part, error)) (*Space, error) {
	s := &Space{}
	for _, source := range sources {
		p, err := ready(source)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(s.parts, func(q *part) bool { return q.Template == p.Template }) {
			return nil, fmt.Errorf("template %q contributes twice: give each part its own template", p.Template)
		}
		if s.total > math.MaxInt64-p.diagram.total {
			return nil, fmt.Errorf("%w: more than 2^63 configurations", ErrTooLarge)
		}
		s.parts = append(s.parts, p)
		s.first = append(s.first, s.total)
		s.total += p.diagram.total
	}
	s.axes = newAxes(s.parts)
	return s, nil
}

func newPart(ctx context.Context, p Part, maxNodes int) (*part, error) {
	return p.ready(func(*part) (*diagram, error) {
		m, err := newModel(ctx, p)
		if err != nil {
			return nil, err
		}
		return m.build(ctx, maxNodes)
	})
}

// ready checks a part's tunables and builds its diagram. An error that ready returns names the template.
func (p Part) ready(build func(*part) (*diagram, error)) (*part, error) {
	p.Tunables = slices.Clone(p.Tunables)
	built := &part{Part: p}
	err := built.checkTunables()
	if err == nil {
		built.diagram, err = build(built)
	}
	if err != nil && p.Template != "" {
		err = fmt.Errorf("template %s: %w", p.Template, err)
	}
	return built, err
}

func (p *part) checkTunables() error {
	seen := map[string]bool{}
	for _, t := range p.Tunables {
		if _, constant := p.Constants[t.Name]; constant {
			return fmt.Errorf("tunable %s is also a constant: rename one", t.Name)
		}
		if seen[t.Name] {
			return fmt.Errorf("tunable %s is declared twice: rename one", t.Name)
		}
		seen[t.Name] = true
		position, err := positions(t)
		if err != nil {
			return err
		}
		p.position = append(p.position, position)
	}
	return nil
}

func positions(t Tunable) (map[expr.Value]int, error) {
	if len(t.Values) == 0 {
		return nil, fmt.Errorf("tunable %s has no values: give it at least one", t.Name)
	}
	at := make(map[expr.Value]int, len(t.Values))
	for i, v := range t.Values {
		if v.Kind() == expr.KindNone {
			return nil, fmt.Errorf("tunable %s: value %d is nothing: give a number, a bool or a string", t.Name, i+1)
		}
		if j, twice := at[v.Canonical()]; twice {
			return nil, fmt.Errorf("tunable %s has the value %s twice (value %d and value %d): remove one", t.Name, v, j+1, i+1)
		}
		at[v.Canonical()] = i
	}
	return at, nil
}

// Len returns the number of valid configurations of all parts.
func (s *Space) Len() int64 { return s.total }

// Cartesian returns the number of all combinations of values, whether valid or not.
func (s *Space) Cartesian() float64 {
	sum := 0.0
	for _, p := range s.parts {
		product := 1.0
		for _, t := range p.Tunables {
			product *= float64(len(t.Values))
		}
		sum += product
	}
	return sum
}

// Parts returns the parts that the space was built from. The caller must not modify the parts that Parts returns.
func (s *Space) Parts() []Part {
	return lists.Of(s.parts, func(p *part) Part { return p.Part })
}

// PartOf returns the part of the space that configuration i belongs to. Like all methods that take the number of a
// configuration, PartOf panics if i is out of range.
func (s *Space) PartOf(i int64) int {
	if i < 0 || i >= s.total {
		panic(fmt.Sprintf("space: configuration %d of %d", i, s.total))
	}
	return sort.Search(len(s.first), func(p int) bool { return s.first[p] > i }) - 1
}

func (s *Space) Range(part int) (first, end int64) {
	return s.first[part], s.first[part] + s.parts[part].diagram.total
}

func (s *Space) At(i int64) Configuration {
	p := s.parts[s.PartOf(i)]
	c := Configuration{Template: p.Template, Values: make(Values, len(p.Tunables))}
	for k, v := range s.Choice(i) {
		c.Values[k] = Value{p.Tunables[k].Name, p.Tunables[k].Values[v]}
	}
	return c
}

// Choice returns the index of the chosen value for each tunable of configuration i.
func (s *Space) Choice(i int64) []int {
	p := s.PartOf(i)
	choice := make([]int, len(s.parts[p].Tunables))
	s.parts[p].diagram.unrank(i-s.first[p], choice)
	return choice
}

// IndexOf is the inverse of Choice: it returns the number of the configuration of a part that has the chosen values, or
// false if that configuration is not valid.
func (s *Space) IndexOf(part int, choice []int) (int64, bool) {
	p := s.parts[part]
	if len(choice) != len(p.Tunables) {
		return 0, false
	}
	rank, ok := p.diagram.rank(choice)
	return s.first[part] + rank, ok
}

// Index returns the number of a configuration, which may list its values in any order. Index returns false if the space
// does not contain the configuration.
func (s *Space) Index(c Configuration) (int64, bool) {
	i := slices.IndexFunc(s.parts, func(p *part) bool { return p.Template == c.Template })
	if i < 0 {
		return 0, false
	}
	choice, ok := s.parts[i].choice(c.Values)
	if !ok {
		return 0, false
	}
	return s.IndexOf(i, choice)
}

// choice returns the index of each tunable's value, for values in any order, or false if the values do not belong to
// the part's tunables.
func (p *part) choice(values Values) ([]int, bool) {
	choice := make([]int, len(p.Tunables))
	for k, t := range p.Tunables {
		v, ok := values.Get(t.Name)
		if !ok {
			return nil, false
		}
		if choice[k], ok = p.position[k][v.Canonical()]; !ok {
			return nil, false
		}
	}
	return choice, len(values) == len(choice)
}
