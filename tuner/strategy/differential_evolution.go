package strategy

import "slices"

// evolution is differential evolution: a mixture of a member's own position and of
// a mutant challenges it. The mutant is a guide's position moved by the difference
// of two other members. A better challenger takes the member's place. Positions
// between configurations are rounded to the nearest valid one.
type evolution struct {
	*archive
	population []member
	waits      owners
	turn       int
}

const (
	differenceWeight = 0.7
	crossover        = 0.8
)

func newEvolution(a *archive, _ Options) method {
	return &evolution{archive: a, waits: owners{}, population: slices.Repeat([]member{unknown()}, populationSize(a))}
}

func (e *evolution) propose() (int64, bool) {
	at := e.turn % len(e.population)
	e.turn++
	id := e.draw()
	if e.population[at].id >= 0 {
		var ok bool
		if id, ok = e.challenger(e.population[at].id); !ok {
			return 0, false
		}
	}
	e.waits.add(id, at)
	return id, true
}

func (e *evolution) challenger(self int64) (int64, bool) {
	part := e.space.PartOf(self)
	position := e.space.Positions(self, nil)
	base := e.space.Positions(e.guide(part, self), nil)
	plus := e.space.Positions(e.other(part, self), nil)
	minus := e.space.Positions(e.other(part, self), nil)
	always := e.rng.IntN(len(position))
	for k := range position {
		if k == always || e.rng.Float64() < crossover {
			position[k] = base[k] + differenceWeight*(plus[k]-minus[k])
			if position[k] < 0 || position[k] > 1 {
				position[k] = e.rng.Float64()
			}
		}
	}
	return e.space.Nearest(part, position)
}

// guide is the best of the part half of the time, else any member of it.
func (e *evolution) guide(part int, self int64) int64 {
	if e.rng.IntN(2) == 0 && e.best >= 0 && e.space.PartOf(e.best) == part {
		return e.best
	}
	return e.other(part, self)
}

// other is a member of that part, or a random configuration of it.
func (e *evolution) other(part int, self int64) int64 {
	for range 2 * len(e.population) {
		m := e.population[e.rng.IntN(len(e.population))]
		if m.id >= 0 && m.id != self && e.space.PartOf(m.id) == part {
			return m.id
		}
	}
	first, end := e.space.Range(part)
	return first + e.rng.Int64N(end-first)
}

func (e *evolution) learn(id int64, o Outcome) {
	for _, at := range e.waits.take(id) {
		// Of two failures the later one stays, so that the member moves on.
		if now := loss(o); now <= e.population[at].loss {
			e.population[at] = member{id, now}
		}
	}
}
