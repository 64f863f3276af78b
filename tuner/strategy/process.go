package strategy

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// process is a Gaussian process on configurations. Its places are added one by
// one, which extends the Cholesky factor by a row; what was seen at a place may
// be changed at any time, for the factor does not depend on it. So a place can
// be entered with a guess while its evaluation is under way.
type process struct {
	kernel
	noise  float64 // variance of what is seen, of which the whole is 1
	places [][]float64
	seen   []float64 // standardised

	logDet float64
	rows   [][]float64 // of the lower factor
	solved []float64   // the lower factor's solution of seen
	stale  bool        // solved does not belong to seen
}

// set starts over with these places.
func (p *process) set(places [][]float64, seen []float64) bool {
	p.places = append(p.places[:0], places...)
	p.seen = append(p.seen[:0], seen...)
	p.stale = true
	return p.factorise(p.covariance())
}

// factorise makes the rows of a covariance's factor, in its place.
func (p *process) factorise(k blas64.Symmetric) bool {
	p.rows, p.logDet = p.rows[:0], 0
	if k.N == 0 {
		return true
	}
	factor, ok := lapack64.Potrf(k)
	if !ok {
		return false
	}
	for i := range k.N {
		row := factor.Data[i*k.N : i*k.N+i+1]
		p.rows = append(p.rows, row)
		p.logDet += 2 * math.Log(row[i])
	}
	return true
}

// covariance is the lower half of the matrix between all places.
func (p *process) covariance() blas64.Symmetric {
	n := len(p.places)
	k := lowerHalf(n)
	for i := range n {
		row := k.Data[i*n:]
		for j := range i {
			row[j] = p.at(p.places[i], p.places[j])
		}
		row[i] = 1 + p.noise
	}
	return k
}

func lowerHalf(n int) blas64.Symmetric {
	return blas64.Symmetric{Uplo: blas.Lower, N: n, Stride: max(1, n), Data: make([]float64, n*n)}
}

// add enters the place of a probe; false if it tells nothing that the others do
// not. The new row of the factor is the probe's solution.
func (p *process) add(at *probe, seen float64) bool {
	p.catchUp(at)
	rest := 1 + p.noise - floats.Dot(at.solution, at.solution)
	if rest < 1e-9 {
		return false
	}
	n := len(p.places)
	row := append(append(make([]float64, 0, n+1), at.solution...), math.Sqrt(rest))
	p.rows = append(p.rows, row)
	p.logDet += math.Log(rest)
	p.places, p.seen = append(p.places, at.place), append(p.seen, seen)
	p.stale = true
	return true
}

// see changes what was seen at a place.
func (p *process) see(i int, value float64) {
	p.seen[i] = value
	p.stale = true
}

// solve brings solved up to date.
func (p *process) solve() []float64 {
	if p.stale {
		p.solved = p.forward(p.solved[:0], p.seen)
		p.stale = false
	}
	return p.solved
}

// forward appends the rest of the lower factor's solution of x, of which the
// beginning is given.
func (p *process) forward(solution, x []float64) []float64 {
	for i := len(solution); i < len(p.rows); i++ {
		row := p.rows[i]
		solution = append(solution, (x[i]-floats.Dot(row[:i], solution))/row[i])
	}
	return solution
}

// probe is a place at which the process is looked at again and again. It keeps
// the covariances with the process's places and their solution, to which each
// new place adds one number.
type probe struct {
	id         int64
	worth      float64 // when it was last looked at
	fresh      bool    // it never was
	works      float64 // how likely it works
	judged     int     // which generation of trees said so
	place      []float64
	covariance []float64
	solution   []float64
}

// probeRoom is for how many more places a probe has room at first.
const probeRoom = 32

// look tells what the process expects at the probe.
func (p *process) look(at *probe) (mean, deviation float64) {
	p.catchUp(at)
	mean = floats.Dot(at.solution, p.solve())
	return mean, math.Sqrt(max(1e-10, 1-floats.Dot(at.solution, at.solution)))
}

// catchUp brings a probe to the places that were added since it was looked at.
func (p *process) catchUp(at *probe) {
	if at.covariance == nil {
		both := make([]float64, 0, 2*(len(p.places)+probeRoom))
		half := cap(both) / 2
		at.covariance, at.solution = both[:0:half], both[half:half]
	}
	for i := len(at.covariance); i < len(p.places); i++ {
		at.covariance = append(at.covariance, p.at(at.place, p.places[i]))
	}
	at.solution = p.forward(at.solution, at.covariance)
}

// likelihood is the logarithm of how likely what was seen is, up to a constant.
func (p *process) likelihood() float64 {
	solved := p.solve()
	return -0.5*floats.Dot(solved, solved) - 0.5*p.logDet
}
