package strategy

import (
	"math"
	"math/rand/v2"
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
		at := round % (len(trial.weights) + 1)
		if at == len(trial.weights) {
			trial.noise = clamp(trial.noise*math.Exp(2*step*rng.NormFloat64()), 1e-6, 0.5)
		} else {
			trial.weights[at] = clamp(trial.weights[at]*math.Exp(2*step*rng.NormFloat64()), 1e-3, 400)
		}
		if now := trial.posterior(places, seen); now > score {
			best, score = trial, now
		}
	}
	p.weights, p.noise = best.weights, best.noise
	return !math.IsInf(score, -1)
}

func (p *process) copyOfParameters() *process {
	return &process{kernel: kernel{p.categorical, append([]float64(nil), p.weights...)}, noise: p.noise}
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
