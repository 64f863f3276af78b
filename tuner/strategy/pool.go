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
	turn int
}

const (
	poolSweep = 10  // proposals from one sweep to the next
	poolHot   = 64  // candidates that are looked at in between
	poolSize  = 260 // candidates that stay after a sweep
)

// sweeping says whether the next search for the best goes through all.
func (p *pool) sweeping() bool { return p.turn%poolSweep == 0 }

// find is the candidate with that configuration, or nil.
func (p *pool) find(id int64) *probe {
	at := slices.IndexFunc(p.list, func(at *probe) bool { return at.id == id })
	if at < 0 {
		return nil
	}
	return p.list[at]
}

// add puts a candidate in that is worth looking at soon.
func (p *pool) add(at *probe) {
	at.fresh = true
	p.list = append(p.list, at)
}

// take removes and returns the candidate that is worth the most, or nil if there
// is none.
func (p *pool) take(worth func(*probe) float64) *probe {
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
	if sweep {
		p.rank()
	}
	p.list = slices.DeleteFunc(p.list, func(at *probe) bool { return at == most })
	return most
}

// rank orders the candidates by worth and lets the worst go.
func (p *pool) rank() {
	slices.SortStableFunc(p.list, func(a, b *probe) int { return cmp.Compare(b.worth, a.worth) })
	p.list = p.list[:min(len(p.list), poolSize)]
}
