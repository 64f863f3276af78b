package strategy

// entries lists the strategies in the order in which help shows them.
func entries() []entry {
	return []entry{
		{"auto", "the default: models and local search, each given the turns that it earns", walkWith(newAuto)},
		{"bayesian", "Gaussian process with expected improvement", walkWith(newBayesian)},
		{"forest", "extremely randomised trees with expected improvement", walkWith(newForest)},
		{"ils", "greedy iterated local search", walkWith(newILS)},
		{"annealing", "simulated annealing", walkWith(newAnnealing)},
		{"genetic", "genetic algorithm", walkWith(newGenetic)},
		{"differential_evolution", "differential evolution", walkWith(newEvolution)},
		{"particle_swarm", "particle swarm optimisation", walkWith(newSwarm)},
		{"random", "uniformly, without replacement", newRandom},
		{"exhaustive", "every configuration, in index order", newExhaustive},
	}
}
