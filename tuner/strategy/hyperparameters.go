package strategy

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// The hyperparameters are the weights of the dimensions and the noise. They begin
// at the usual values, and the logarithm of each has a normal prior about them.
const (
	usualWeight = 1.5
	usualNoise  = 1e-3
	priorWidth  = 1.5
)

// logPrior is the logarithm of a hyperparameter's prior, up to a constant.
func logPrior(x, usual, width float64) float64 {
	z := math.Log(x/usual) / width
	return -z * z / 2
}

const (
	fitPoints = 64 // are enough to choose hyperparameters
	fitRounds = 80
)

// fit chooses the most likely hyperparameters by a random local search from the
// present ones. The prior holds them to what is usual, which matters while little
// is known.
func (p *gaussianProcess) fit(rng *rand.Rand, points [][]float64, observed []float64) {
	if n := len(points); n > fitPoints {
		some, values := make([][]float64, fitPoints), make([]float64, fitPoints)
		for i, at := range rng.Perm(n)[:fitPoints] {
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
	for round := range fitRounds {
		next, nextDistances := best.copyOfHyperparameters(), distances
		width := 1.2 * math.Exp(-1.5*float64(round)/fitRounds)
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

// fitting is what stays the same while hyperparameters are chosen: the squared
// difference of each pair of points in each dimension. A new weight changes all
// distances by a multiple of one dimension's differences.
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

// posterior is the logarithm of the posterior of a process's hyperparameters,
// given the squared distances of all pairs, up to a constant.
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
		sum += logPrior(w, usualWeight, priorWidth)
	}
	return sum + logPrior(p.noise, usualNoise, 2*priorWidth)
}

func clamp(x, low, high float64) float64 { return max(low, min(high, x)) }
