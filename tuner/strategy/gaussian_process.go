package strategy

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// gaussianProcess is a Gaussian process over configurations. Each point that is added to the process extends the
// Cholesky factor by a row. The Cholesky factor does not depend on the observed values, so a point can be added with
// its expected value, which the observed value replaces when the evaluation ends.
type gaussianProcess struct {
	covariance
	noise    float64 // noise over the variance of the observations, which is 1
	points   [][]float64
	observed []float64 // standardised losses

	logDet float64
	rows   [][]float64 // rows of the lower Cholesky factor
	solved []float64   // beginning of the solution of lower factor * solved = observed
}

// set replaces all points of the process; it returns false if their covariance matrix has no Cholesky factor.
func (p *gaussianProcess) set(points [][]float64, observed []float64) bool {
	p.points = append(p.points[:0], points...)
	p.observed = append(p.observed[:0], observed...)
	p.solved = p.solved[:0]
	k := lowerHalf(len(points))
	p.fill(k, func(i, j int) float64 { return p.between(points[i], points[j]) })
	return p.factorise(k)
}

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

// add appends the point of a probe to the process; it returns false if the value at that point already follows from
// earlier points. The new row of the Cholesky factor is the probe's solution of the triangular system.
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

// observe replaces the observed value of point i, and keeps the part of the triangular system's solution that
// belongs to earlier points.
func (p *gaussianProcess) observe(i int, value float64) {
	p.observed[i] = value
	p.solved = p.solved[:min(i, len(p.solved))]
}

func (p *gaussianProcess) solve() []float64 {
	p.solved = p.forward(p.solved, p.observed)
	return p.solved
}

// forward extends the solution of the triangular system factor * solution = x to all rows of the factor.
func (p *gaussianProcess) forward(solution, x []float64) []float64 {
	for i := len(solution); i < len(p.rows); i++ {
		row := p.rows[i]
		solution = append(solution, (x[i]-floats.Dot(row[:i], solution))/row[i])
	}
	return solution
}

// probe is a configuration for which the Gaussian process computes the expected loss many times. A probe caches its
// covariances with the process's points and the solution of the triangular system for these covariances; each point
// that the process gains adds one number to both.
type probe struct {
	id          int64
	worth       float64 // when it was last rated
	fresh       bool    // it was never rated
	works       float64 // probability that it works
	judged      int     // generation of the trees that computed works
	point       []float64
	covariances []float64
	solution    []float64
}

// probeRoom is the spare capacity that a new probe gets for points that are added to the process later.
const probeRoom = 32

func (p *gaussianProcess) predict(at *probe) (mean, deviation float64) {
	p.catchUp(at)
	mean = floats.Dot(at.solution, p.solve())
	return mean, math.Sqrt(max(1e-10, 1-floats.Dot(at.solution, at.solution)))
}

// catchUp extends the cached covariances and solution of a probe by the points that were added since the probe was last
// used.
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

func (p *gaussianProcess) likelihood() float64 {
	solved := p.solve()
	return -0.5*floats.Dot(solved, solved) - 0.5*p.logDet
}

// covariance is the Gaussian process's covariance function: how similar the losses of two configurations are expected
// to be, from 0 to 1. The covariance is a Matérn 5/2 function of the weighted distance between two configurations. An
// ordered tunable contributes the difference of its values to the distance of two configurations, a categorical tunable
// only whether its values differ.
type covariance struct {
	categorical []bool
	weights     []float64 // weight of each dimension's squared difference; 0 ignores the dimension
}

func newCovariance(categorical []bool) covariance {
	c := covariance{categorical: categorical, weights: make([]float64, len(categorical))}
	for i := range c.weights {
		c.weights[i] = policy.weight
	}
	return c
}

func (c covariance) between(a, b []float64) float64 { return matern(c.squared(a, b)) }

// squared returns the square of the weighted distance of two configurations.
func (c covariance) squared(a, b []float64) float64 {
	sum := 0.0
	for i, w := range c.weights {
		d := a[i] - b[i]
		if d == 0 {
			continue
		}
		if c.categorical[i] {
			d = 1
		}
		sum += w * d * d
	}
	return sum
}

// matern returns the Matérn 5/2 correlation at a squared distance.
func matern(squared float64) float64 {
	if squared <= 0 { // negative only by rounding
		return 1
	}
	r := math.Sqrt(5 * squared)
	return (1 + r + r*r/3) * math.Exp(-r)
}

// The hyperparameters of a Gaussian process are the weights of the dimensions and the noise. Each hyperparameter has a
// log-normal prior around its usual value, from which the search for it starts.

// logPrior returns the logarithm of a hyperparameter's prior density, up to a constant.
func logPrior(x, usual, width float64) float64 {
	z := math.Log(x/usual) / width
	return -z * z / 2
}

// fit improves the hyperparameters by a random local search that begins at the present values. The prior keeps
// hyperparameters near their usual values, which matters while there are few observations.
func (p *gaussianProcess) fit(rng *rand.Rand, points [][]float64, observed []float64) {
	if n := len(points); n > policy.fitPoints {
		some, values := make([][]float64, policy.fitPoints), make([]float64, policy.fitPoints)
		for i, at := range rng.Perm(n)[:policy.fitPoints] {
			some[i], values[i] = points[at], observed[at]
		}
		points, observed = some, values
	}
	f := newFitting(p.categorical, points, observed)
	best, distances, changed := p.copyOfHyperparameters(), make([]float64, f.pairs), make([]float64, f.pairs)
	for d, w := range best.weights {
		floats.AddScaled(distances, w, f.differences[d])
	}
	score := f.posterior(best, distances)
	for round := range policy.fitRounds {
		next, nextDistances := best.copyOfHyperparameters(), distances
		width := 1.2 * math.Exp(-1.5*float64(round)/float64(policy.fitRounds))
		at := round % (len(next.weights) + 1)
		if at == len(next.weights) {
			next.noise = clamp(next.noise*math.Exp(2*width*rng.NormFloat64()), 1e-6, 0.5)
		} else {
			next.weights[at] = clamp(next.weights[at]*math.Exp(2*width*rng.NormFloat64()), 1e-3, 400)
			nextDistances = floats.AddScaledTo(changed, distances, next.weights[at]-best.weights[at], f.differences[at])
		}
		if now := f.posterior(next, nextDistances); now > score {
			best, score = next, now
			if at < len(next.weights) {
				distances, changed = changed, distances
			}
		}
	}
	p.weights, p.noise = best.weights, best.noise
}

func (p *gaussianProcess) copyOfHyperparameters() *gaussianProcess {
	return &gaussianProcess{covariance: covariance{p.categorical, slices.Clone(p.weights)}, noise: p.noise}
}

// fitting holds data that do not change while hyperparameters are chosen: the squared difference of each pair of points
// in each dimension. A change of one weight changes all squared distances by a multiple of the squared differences in
// that dimension.
type fitting struct {
	pairs       int
	differences [][]float64
	observed    []float64
	matrix      blas64.Symmetric
}

func newFitting(categorical []bool, points [][]float64, observed []float64) *fitting {
	n := len(points)
	f := &fitting{pairs: n * (n - 1) / 2, observed: observed, matrix: lowerHalf(n)}
	for d := range categorical {
		only := covariance{categorical[d : d+1], []float64{1}}
		squares := make([]float64, 0, f.pairs)
		for i := range n {
			for j := range i {
				squares = append(squares, only.squared(points[i][d:], points[j][d:]))
			}
		}
		f.differences = append(f.differences, squares)
	}
	return f
}

// posterior returns the logarithm of the posterior density of the hyperparameters, up to a constant. The argument
// `distances` contains the squared distance of each pair of points.
func (f *fitting) posterior(p *gaussianProcess, distances []float64) float64 {
	pair := -1
	p.fill(f.matrix, func(int, int) float64 {
		pair++
		return matern(distances[pair])
	})
	if !p.factorise(f.matrix) {
		return math.Inf(-1)
	}
	p.observed = f.observed
	sum := p.likelihood()
	for _, w := range p.weights {
		sum += logPrior(w, policy.weight, policy.width)
	}
	return sum + logPrior(p.noise, policy.noise, 2*policy.width)
}

func clamp(x, low, high float64) float64 { return max(low, min(high, x)) }
