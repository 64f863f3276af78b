package strategy

import (
	"cmp"
	"slices"
)

// pool holds candidates and what they were worth when they were last looked at.
// Worth changes little from one outcome to the next, so most of the time only the
// best few are looked at again. Now and then a sweep looks at all, and the worst
// are dropped.
type pool struct {
	list []*probe
	in   map[int64]*probe
	turn int
}

const (
	poolSweep = 10  // proposals from one sweep to the next
	poolHot   = 64  // candidates that are looked at in between
	poolSize  = 260 // candidates that stay after a sweep
)

// sweeping says whether the next search for the best goes through all.
func (p *pool) sweeping() bool { return p.turn%poolSweep == 0 }

// probe returns the candidate, or a new one that is not in the pool.
func (p *pool) probe(id int64, features func(int64) []float64) *probe {
	if at, ok := p.in[id]; ok {
		return at
	}
	return &probe{id: id, point: features(id)}
}

// add puts a candidate in that is worth looking at soon.
func (p *pool) add(id int64, features func(int64) []float64) {
	if p.in == nil {
		p.in = map[int64]*probe{}
	}
	if p.in[id] != nil {
		return
	}
	at := &probe{id: id, point: features(id), fresh: true}
	p.in[id] = at
	p.list = append(p.list, at)
}

// take removes a candidate.
func (p *pool) take(id int64) *probe {
	at := p.in[id]
	p.drop(func(other int64) bool { return other == id })
	return at
}

func (p *pool) drop(unwanted func(id int64) bool) {
	p.list = slices.DeleteFunc(p.list, func(at *probe) bool {
		if !unwanted(at.id) {
			return false
		}
		delete(p.in, at.id)
		return true
	})
}

// best is the candidate that is worth the most.
func (p *pool) best(worth func(*probe) float64) (int64, bool) {
	sweep := p.sweeping()
	p.turn++
	var most *probe
	for i, at := range p.list {
		if sweep || i < poolHot || at.fresh {
			at.worth, at.fresh = worth(at), false
		}
		if most == nil || at.worth > most.worth {
			most = at
		}
	}
	if most == nil {
		return 0, false
	}
	if sweep {
		p.rank()
	}
	return most.id, true
}

// rank orders the candidates by worth and lets the worst go.
func (p *pool) rank() {
	slices.SortStableFunc(p.list, func(a, b *probe) int { return cmp.Compare(b.worth, a.worth) })
	for len(p.list) > poolSize {
		last := len(p.list) - 1
		delete(p.in, p.list[last].id)
		p.list = p.list[:last]
	}
}
