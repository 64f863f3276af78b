package strategy

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// gaussianProcess is a Gaussian process on configurations. Points are added one
// by one, and each extends the Cholesky factor by a row. The factor does not
// depend on the observed values, so these may change at any time: a point is
// entered with a guess while its evaluation is under way.
type gaussianProcess struct {
	covariance
	noise    float64 // its share of the observed variance, which is 1
	points   [][]float64
	observed []float64 // standardised losses

	logDet float64
	rows   [][]float64 // of the lower factor
	solved []float64   // the first part of the lower factor's solution of observed
}

// set starts over with these points; false if their covariance has no factor.
func (p *gaussianProcess) set(points [][]float64, observed []float64) bool {
	p.points = append(p.points[:0], points...)
	p.observed = append(p.observed[:0], observed...)
	p.solved = p.solved[:0]
	k := lowerHalf(len(points))
	p.fill(k, func(i, j int) float64 { return p.between(points[i], points[j]) })
	return p.factorise(k)
}

// factorise makes the rows of a covariance matrix's factor, in its memory.
func (p *gaussianProcess) factorise(k blas64.Symmetric) bool {
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

// fill gives a covariance matrix its lower half, row by row.
func (p *gaussianProcess) fill(k blas64.Symmetric, between func(i, j int) float64) {
	for i := range k.N {
		row := k.Data[i*k.N:]
		for j := range i {
			row[j] = between(i, j)
		}
		row[i] = 1 + p.noise
	}
}

func lowerHalf(n int) blas64.Symmetric {
	return blas64.Symmetric{Uplo: blas.Lower, N: n, Stride: max(1, n), Data: make([]float64, n*n)}
}

// add enters a probe's point; false if the points before it determine it
// already. The new row of the factor is the probe's solution.
func (p *gaussianProcess) add(at *probe, observed float64) bool {
	p.catchUp(at)
	rest := 1 + p.noise - floats.Dot(at.solution, at.solution)
	if rest < 1e-9 {
		return false
	}
	n := len(p.points)
	row := append(append(make([]float64, 0, n+1), at.solution...), math.Sqrt(rest))
	p.rows = append(p.rows, row)
	p.logDet += math.Log(rest)
	p.points, p.observed = append(p.points, at.point), append(p.observed, observed)
	return true
}

// observe changes the value at a point; the solution before it stays.
func (p *gaussianProcess) observe(i int, value float64) {
	p.observed[i] = value
	p.solved = p.solved[:min(i, len(p.solved))]
}

// solve completes what is solved.
func (p *gaussianProcess) solve() []float64 {
	p.solved = p.forward(p.solved, p.observed)
	return p.solved
}

// forward appends what is missing of the lower factor's solution of x.
func (p *gaussianProcess) forward(solution, x []float64) []float64 {
	for i := len(solution); i < len(p.rows); i++ {
		row := p.rows[i]
		solution = append(solution, (x[i]-floats.Dot(row[:i], solution))/row[i])
	}
	return solution
}

// probe is a point at which the model is asked again and again. It keeps the
// covariances with the model's points and their solution; each new point adds one
// number to both.
type probe struct {
	id          int64
	worth       float64 // when it was last asked
	fresh       bool    // it never was asked
	works       float64 // how likely it works
	judged      int     // which generation of trees said so
	point       []float64
	covariances []float64
	solution    []float64
}

// probeRoom is the room for further points that a new probe has.
const probeRoom = 32

// predict is the mean and deviation expected at a probe.
func (p *gaussianProcess) predict(at *probe) (mean, deviation float64) {
	p.catchUp(at)
	mean = floats.Dot(at.solution, p.solve())
	return mean, math.Sqrt(max(1e-10, 1-floats.Dot(at.solution, at.solution)))
}

// catchUp gives a probe the points that were added since it was last asked.
func (p *gaussianProcess) catchUp(at *probe) {
	if at.covariances == nil {
		both := make([]float64, 0, 2*(len(p.points)+probeRoom))
		half := cap(both) / 2
		at.covariances, at.solution = both[:0:half], both[half:half]
	}
	for i := len(at.covariances); i < len(p.points); i++ {
		at.covariances = append(at.covariances, p.between(at.point, p.points[i]))
	}
	at.solution = p.forward(at.solution, at.covariances)
}

// likelihood is the logarithm of the likelihood of what was observed, up to a
// constant.
func (p *gaussianProcess) likelihood() float64 {
	solved := p.solve()
	return -0.5*floats.Dot(solved, solved) - 0.5*p.logDet
}
