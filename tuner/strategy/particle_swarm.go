package strategy

// swarm is particle swarm optimisation: particles fly through the positions of
// the tunables of their template. Each is drawn to the best position that it
// has met and to the best that any has. A particle is evaluated at the nearest
// valid configuration.
type swarm struct {
	*archive
	particles []particle
	waits     owners
	turn      int
}

type particle struct {
	part               int
	position, velocity []float64
	best               member
}

// The usual weights, with which swarms converge.
const (
	inertia   = 0.6
	toOwn     = 1.5
	toAll     = 1.5
	topSpeed  = 0.5
	calmSpeed = 0.02 // below this a particle starts anew elsewhere
)

func newSwarm(a *archive, _ Options) method {
	s := &swarm{archive: a, waits: owners{}}
	for _, id := range a.space.Sample(a.rng, populationSize(a)) {
		s.particles = append(s.particles, s.at(id))
	}
	return s
}

// at is a particle that starts at a configuration.
func (s *swarm) at(id int64) particle {
	p := particle{part: s.space.PartOf(id), position: s.space.Positions(id, nil), best: unknown()}
	for range p.position {
		p.velocity = append(p.velocity, (s.rng.Float64()-0.5)*topSpeed)
	}
	return p
}

func (s *swarm) propose() (int64, bool) {
	at := s.turn % len(s.particles)
	p := &s.particles[at]
	if s.turn >= len(s.particles) {
		s.fly(p)
	}
	s.turn++
	id, ok := s.space.Nearest(p.part, p.position)
	if ok {
		s.waits.add(id, at)
	}
	return id, ok
}

func (s *swarm) fly(p *particle) {
	if s.best >= 0 && s.space.PartOf(s.best) != p.part && s.rng.IntN(10) == 0 {
		*p = s.at(s.best) // changes over to the template that does better
	}
	own, all := p.position, p.position
	if p.best.id >= 0 && s.space.PartOf(p.best.id) == p.part {
		own = s.space.Positions(p.best.id, nil)
	}
	if s.best >= 0 && s.space.PartOf(s.best) == p.part {
		all = s.space.Positions(s.best, nil)
	}
	fastest := 0.0
	for k := range p.position {
		v := inertia*p.velocity[k] + toOwn*s.rng.Float64()*(own[k]-p.position[k]) + toAll*s.rng.Float64()*(all[k]-p.position[k])
		p.velocity[k] = clamp(v, -topSpeed, topSpeed)
		fastest = max(fastest, p.velocity[k], -p.velocity[k])
	}
	for k := range p.position {
		p.position[k] += p.velocity[k]
		if p.position[k] < 0 || p.position[k] > 1 {
			p.position[k] = clamp(p.position[k], 0, 1)
			p.velocity[k] /= -2
		}
	}
	if fastest < calmSpeed {
		best := p.best
		*p = s.at(s.draw())
		p.best = best
	}
}

func (s *swarm) learn(id int64, o Outcome) {
	for _, at := range s.waits.take(id) {
		if now := loss(o); now < s.particles[at].best.loss {
			s.particles[at].best = member{id, now}
		}
	}
}
