package strategy

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// fit chooses the process's weights and noise by a random local search for the
// most likely ones, from those it has, on at most so many of the places. A
// prior holds them to what is usual, which matters while little is known.
func (p *process) fit(rng *rand.Rand, places [][]float64, seen []float64, rounds int) {
	const most = 64
	if n := len(places); n > most {
		some, what := make([][]float64, most), make([]float64, most)
		for i, at := range rng.Perm(n)[:most] {
			some[i], what[i] = places[at], seen[at]
		}
		places, seen = some, what
	}
	f := newFitting(p.categorical, places, seen)
	best, distances, changed := p.copyOfParameters(), make([]float64, f.pairs), make([]float64, f.pairs)
	for d, w := range best.weights {
		floats.AddScaled(distances, w, f.differences[d])
	}
	score := f.posterior(best, distances)
	for round := range rounds {
		trial, tried := best.copyOfParameters(), distances
		step := 1.2 * math.Exp(-1.5*float64(round)/float64(rounds))
		at := round % (len(trial.weights) + 1)
		if at == len(trial.weights) {
			trial.noise = clamp(trial.noise*math.Exp(2*step*rng.NormFloat64()), 1e-6, 0.5)
		} else {
			trial.weights[at] = clamp(trial.weights[at]*math.Exp(2*step*rng.NormFloat64()), 1e-3, 400)
			tried = floats.AddScaledTo(changed, distances, trial.weights[at]-best.weights[at], f.differences[at])
		}
		if now := f.posterior(trial, tried); now > score {
			best, score = trial, now
			if at < len(trial.weights) {
				distances, changed = changed, distances
			}
		}
	}
	p.weights, p.noise = best.weights, best.noise
}

func (p *process) copyOfParameters() *process {
	return &process{kernel: kernel{p.categorical, append([]float64(nil), p.weights...)}, noise: p.noise}
}

// fitting is what stays the same while parameters are chosen: how much each
// pair of places differs, squared, dimension by dimension. A new weight changes
// all distances by a multiple of one of these.
type fitting struct {
	pairs       int
	differences [][]float64
	seen        []float64
	covariance  blas64.Symmetric
}

func newFitting(categorical []bool, places [][]float64, seen []float64) *fitting {
	n := len(places)
	f := &fitting{pairs: n * (n - 1) / 2, seen: seen, covariance: lowerHalf(n)}
	for d := range categorical {
		only := kernel{categorical[d : d+1], []float64{1}}
		squares := make([]float64, 0, f.pairs)
		for i := range n {
			for j := range i {
				squares = append(squares, only.squared(places[i][d:], places[j][d:]))
			}
		}
		f.differences = append(f.differences, squares)
	}
	return f
}

// posterior is the logarithm of how likely a process's parameters are, given its
// squared distances of all pairs, up to a constant.
func (f *fitting) posterior(p *process, distances []float64) float64 {
	n, pair := f.covariance.N, 0
	for i := range n {
		row := f.covariance.Data[i*n:]
		for j := range i {
			row[j] = matern(distances[pair])
			pair++
		}
		row[i] = 1 + p.noise
	}
	if !p.factorise(f.covariance) {
		return math.Inf(-1)
	}
	p.seen, p.stale = f.seen, true
	sum := p.likelihood()
	for _, w := range p.weights {
		sum += priorOf(w, usualWeight, priorWidth)
	}
	return sum + priorOf(p.noise, usualNoise, 2*priorWidth)
}

func clamp(x, low, high float64) float64 { return max(low, min(high, x)) }
