package strategy

import (
	"math"
	"math/rand/v2"
	"slices"
)

// fit chooses the process's weights and noise by a random local search for the
// most likely ones, from those it has, on at most so many of the places. A
// prior holds them to what is usual, which matters while little is known.
func (p *process) fit(rng *rand.Rand, places [][]float64, seen []float64, rounds int) bool {
	const most = 64
	if n := len(places); n > most {
		some, what := make([][]float64, most), make([]float64, most)
		for i, at := range rng.Perm(n)[:most] {
			some[i], what[i] = places[at], seen[at]
		}
		places, seen = some, what
	}
	best := p.copyOfParameters()
	score := p.posterior(places, seen)
	for round := range rounds {
		trial := best.copyOfParameters()
		step := 1.2 * math.Exp(-1.5*float64(round)/float64(rounds))
		factor := math.Exp(2 * step * rng.NormFloat64())
		switch at := round % (len(trial.weights) + 2); at {
		case len(trial.weights):
			trial.noise = clamp(trial.noise*factor, 1e-6, 0.5)
		case len(trial.weights) + 1:
			odds := trial.additive / (1 - trial.additive) * factor
			trial.additive = clamp(odds/(1+odds), 0.01, 0.95)
		default:
			trial.weights[at] = clamp(trial.weights[at]*factor, 1e-3, 400)
		}
		trial.settle()
		if now := trial.posterior(places, seen); now > score {
			best, score = trial, now
		}
	}
	p.kernel, p.noise = best.kernel, best.noise
	return !math.IsInf(score, -1)
}

func (p *process) copyOfParameters() *process {
	k := p.kernel
	k.weights = slices.Clone(k.weights)
	return &process{kernel: k, noise: p.noise}
}

func (p *process) posterior(places [][]float64, seen []float64) float64 {
	if !p.set(places, seen) {
		return math.Inf(-1)
	}
	sum := p.likelihood()
	for _, w := range p.weights {
		sum += priorOf(w, usualWeight, priorWidth)
	}
	return sum + priorOf(p.noise, usualNoise, 2*priorWidth)
}

func clamp(x, low, high float64) float64 { return max(low, min(high, x)) }
